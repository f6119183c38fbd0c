/** VictoriaMetrics as Prometheus: its service discovery lists and watches by itself, and it scrapes what it is told to. */
import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { eventually } from './eventually.ts'
import { ownPort } from './own-port.ts'

/** Where Debian puts it; the `prometheus` of Debian knows no Kubernetes. */
const program = '/usr/bin/victoria-metrics'

/** The tests that need it. Where it is not installed they are skipped, and standard error says so. */
export function requireVictoriaMetrics(): typeof test | typeof test.skip {
  if (existsSync(program)) return test
  const message = `NOT TESTED: service discovery of Prometheus; there is no ${program} (apt-get install victoria-metrics)`
  process.stderr.write(`${message}\n`)
  test.skip(message, () => {})
  return test.skip
}

export interface Target {
  /** What was discovered, before any relabelling. */
  readonly discoveredLabels: Readonly<Record<string, string>>
  readonly scrapeUrl: string
  readonly health: 'up' | 'down' | 'unknown'
  readonly lastError: string
  readonly lastSamplesScraped: number
}

export interface VictoriaMetrics extends AsyncDisposable {
  targets(): Promise<readonly Target[]>
  /** What it has logged above level info, one line each. */
  readonly complaints: readonly string[]
}

/** Starts it; `scrapeConfigs` is that part of Prometheus' configuration, paths in it are relative to `folder`. */
export async function startVictoriaMetrics(setup: {
  /** An empty folder of the test's. */
  readonly folder: string
  readonly scrapeConfigs: readonly unknown[]
  readonly flags?: readonly string[]
}): Promise<VictoriaMetrics> {
  const { folder, scrapeConfigs, flags = [] } = setup
  const address = `127.0.0.1:${ownPort()}`
  writeFileSync(join(folder, 'scrape.yaml'), JSON.stringify({ scrape_configs: scrapeConfigs }))
  const child = spawn(
    program,
    [
      '-promscrape.config=scrape.yaml',
      '-promscrape.kubernetesSDCheckInterval=1s',
      '-storageDataPath=data',
      '-memory.allowedBytes=64MB',
      '-loggerLevel=WARN',
      '-http.maxGracefulShutdownDuration=1s',
      `-httpListenAddr=${address}`,
      ...flags,
    ],
    { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
  }
  const targets: VictoriaMetrics['targets'] = async () => {
    const answer = await fetch(`http://${address}/api/v1/targets?state=active`)
    const { data } = (await answer.json()) as { data: { activeTargets: Target[] } }
    return data.activeTargets
  }
  try {
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`victoria-metrics ended: ${said}`)
      await targets()
    })
  } catch (error) {
    await stop()
    throw error
  }
  return {
    targets,
    get complaints() {
      return said.split('\n').filter((line) => line !== '')
    },
    [Symbol.asyncDispose]: stop,
  }
}
