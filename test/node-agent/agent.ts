/** Agent: a node agent in the test's own process, against a lab. */
import { systemClock } from '../../components/component-base/clock.ts'
import { commonFlags } from '../../components/component-base/component.ts'
import { parseFlags } from '../../components/component-base/flags.ts'
import { createLog } from '../../components/component-base/log.ts'
import type { JoinReport } from '../../components/node-agent/join/join-progress.ts'
import { runNodeAgent } from '../../components/node-agent/node-agent.ts'
import { nodeAgentFlags } from '../../components/node-agent/options.ts'
import type { Lab } from './lab.ts'
import { token } from './lab.ts'
import { eventually } from '../support/eventually.ts'

export interface Agent {
  readonly reports: JoinReport[]
  readonly logged: string[]
  readonly ready: Promise<Readonly<Record<string, unknown>>>
  readonly finished: Promise<unknown>
  stop(): Promise<void>
  /** The first report of a step in a state. */
  until(step: string, state: string): Promise<JoinReport>
}

/** Starts an agent that would join with the lab's token and pin; a flag with an empty value is left out. */
export function startAgent(
  lab: Lab,
  name: string,
  options: { rootDir: string; flags?: Record<string, string> },
): Agent {
  const { rootDir, flags = {} } = options
  const all = {
    server: lab.server,
    'bootstrap-token': `${token.id}.${token.secret}`,
    'discovery-token-ca-cert-hash': lab.pin,
    'node-name': name,
    'root-dir': rootDir,
    port: '0',
    ...flags,
  }
  const args = Object.entries(all)
    .filter(([, value]) => value !== '')
    .map(([flag, value]) => `--${flag}=${value}`)
  const stop = new AbortController()
  const reports: JoinReport[] = []
  const logged: string[] = []
  const { promise: ready, resolve } = Promise.withResolvers<Readonly<Record<string, unknown>>>()
  const finished = runNodeAgent(
    {
      options: parseFlags({ ...nodeAgentFlags, ...commonFlags }, args),
      signal: stop.signal,
      clock: systemClock,
      log: createLog({
        clock: systemClock,
        level: 'debug',
        write: (line) => void logged.push(line),
      }),
      ready: (info) => resolve(info ?? {}),
    },
    (report) => void reports.push(report),
  ).then(
    () => undefined,
    (error: unknown) => error,
  )
  return {
    reports,
    logged,
    ready,
    finished,
    async stop() {
      stop.abort(new Error('the test is over'))
      await finished
    },
    until: (step, state) =>
      eventually(() => {
        const found = reports.find((report) => report.step === step && report.state === state)
        if (found === undefined) throw new Error(JSON.stringify(reports))
        return found
      }),
  }
}
