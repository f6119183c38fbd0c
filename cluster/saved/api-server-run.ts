/** One run of an API server's program that serves nothing: it reads or fills the store that its flags name, and ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { environment } from '../../components/component-base/environment.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import { planCluster } from '../plan/plan.ts'
import type { Programs } from '../plan/programs.ts'
import type { StatePaths } from '../state/state-dir.ts'

export interface ApiServerRun {
  readonly config: ClusterConfig
  readonly paths: StatePaths
  readonly programs: Programs
  readonly signal: AbortSignal
  /** Beside the flags that the cluster's API server has. */
  readonly flags: readonly string[]
}

/** What it writes to standard output. Throws a ClusterError with the reason when it fails; ends it when its reader leaves. */
export async function* apiServerOutput(run: ApiServerRun): AsyncGenerator<Buffer> {
  const { config, paths, programs, signal, flags } = run
  const spec = planCluster(config, paths).find(({ program }) => program === 'api-server')
  const script = join(programs.folder, 'api-server.js')
  const child = spawn(
    process.execPath,
    [...(spec?.nodeOptions ?? []), script, ...(spec?.args ?? []), ...flags],
    { cwd: paths.dir, env: environment, stdio: ['ignore', 'pipe', 'pipe'], signal },
  )
  const ended = once(child, 'close') as Promise<[code: number | null]>
  ended.catch(() => {}) // awaited below
  let said = ''
  child.stderr.on('data', (text: Buffer) => (said = `${said}${text.toString()}`.slice(-10_000)))
  try {
    for await (const chunk of child.stdout) yield chunk as Buffer
    const [code] = await ended
    if (code === 0) return
    const why = said.trimEnd().split('\n').at(-1) ?? ''
    throw new ClusterError('failed', `the store cannot be used: ${why.replace(/^[\w-]+: /, '')}`)
  } finally {
    child.kill('SIGKILL')
  }
}
