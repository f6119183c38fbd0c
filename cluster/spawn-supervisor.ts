/** Starting a supervisor: a detached process that takes over the cluster's lock from this one. */
import { spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { environment } from '../components/component-base/environment.ts'
import { ClusterError } from './cluster-error.ts'
import { readStatusLines } from './lines.ts'
import { lastLines, readableLine } from './log-tail.ts'
import { formatDuration } from '../components/component-base/flags.ts'
import type { Lifetime } from './state/lifetime.ts'
import { clusterMarker, identify } from './state/process-identity.ts'
import type { Programs } from './plan/programs.ts'
import { handOverLock } from './state/lock.ts'
import { logOf } from './state/state-dir.ts'
import type { StatePaths } from './state/state-dir.ts'

export interface SupervisorProcess {
  readonly pid: number
  /** Resolves when it listens on its socket; rejects with its last log lines when it ends first. */
  readonly ready: Promise<void>
}

export interface SpawnSupervisorOptions extends Lifetime {
  readonly paths: StatePaths
  readonly clusterId: string
  readonly programs: Programs
  /** `owner`: the end of this process, however it ends, also ends the cluster and removes its state directory. */
  readonly lifetime: 'detached' | 'owner'
  /** Further flags of the supervisor. */
  readonly flags?: readonly string[]
}

function lifetimeFlags({ parent, ttlMs }: Lifetime): string[] {
  return [
    ...(parent === undefined
      ? []
      : [`--parent-pid=${parent.pid}`, `--parent-start-time=${parent.startTime}`]),
    ...(ttlMs === undefined ? [] : [`--ttl=${formatDuration(ttlMs)}`]),
  ]
}

/** The caller must hold the lock. The process outlives this one, unless its lifetime is `owner`. */
export function spawnSupervisor(options: SpawnSupervisorOptions): SupervisorProcess {
  const { paths, lifetime } = options
  const { compileCache } = options.programs
  const logFile = logOf(paths, 'supervisor')
  const log = openSync(logFile, 'a', 0o600)
  const logStart = fstatSync(log).size
  const child = spawn(
    process.execPath,
    [
      '--max-semi-space-size=1',
      options.programs.supervisor,
      `--state-dir=${paths.dir}`,
      `--programs-dir=${options.programs.folder}`,
      ...(lifetime === 'owner' ? ['--end-with-owner'] : []),
      ...lifetimeFlags(options),
      ...(options.flags ?? []),
    ],
    {
      detached: true,
      windowsHide: true,
      stdio: [lifetime === 'owner' ? 'pipe' : 'ignore', log, log, 'pipe'],
      env: {
        ...environment,
        [clusterMarker]: options.clusterId,
        ...(compileCache === undefined ? {} : { NODE_COMPILE_CACHE: compileCache }),
      },
    },
  )
  closeSync(log)
  child.unref()
  if (lifetime === 'owner' && child.stdin !== null && 'unref' in child.stdin) {
    ;(child.stdin as unknown as { unref(): void }).unref()
  }
  child.stdin?.on('error', () => {}) // the supervisor has ended: the next call to it reports that
  const heir = child.pid === undefined ? undefined : identify(child.pid)
  if (heir !== undefined) handOverLock(paths, heir)

  const ready = new Promise<void>((resolve, reject) => {
    const fail = (cause?: unknown): void =>
      reject(
        new ClusterError('failed', 'the supervisor did not start', {
          details: lastLines(logFile, 15, logStart).map((line) => readableLine(line)),
          cause,
        }),
      )
    child.once('error', fail)
    const pipe = child.stdio[3] as Readable | null | undefined
    if (pipe === null || pipe === undefined) return
    const end = readStatusLines(pipe, (status) => {
      if (status['ready'] !== true) return
      resolve()
      pipe.destroy()
    })
    void end.then(() => fail())
  })
  ready.catch(() => {}) // a caller that waits for it gets the error
  return { pid: child.pid ?? -1, ready }
}
