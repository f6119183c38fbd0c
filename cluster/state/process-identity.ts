/** Process identity: a pid plus the time it started, so that a reused pid is never signalled. */
import type { Clock } from '../../components/component-base/clock.ts'
import { systemProcesses } from './processes/system-processes.ts'
import type { ProcessTable } from './processes/process-table.ts'
import { isThere } from './processes/signal-zero.ts'

export interface ProcessIdentity {
  readonly pid: number
  /** What the operating system says about the start; compared as text, never interpreted. */
  readonly startTime: string
}

/** The environment variable that every process of a cluster inherits; its value is the cluster's id. */
export const clusterMarker = 'SKIFF_CLUSTER_ID'

/** The identity of a living process, or undefined when it is gone already. */
export function identify(
  pid: number,
  table: ProcessTable = systemProcesses,
): ProcessIdentity | undefined {
  const startTime = table.startTimeOf(pid)
  return startTime === undefined ? undefined : { pid, startTime }
}

export function isAlive(
  { pid, startTime }: ProcessIdentity,
  table: ProcessTable = systemProcesses,
): boolean {
  return identify(pid, table)?.startTime === startTime
}

/** How long a pid is trusted where a look at its start time is slow. */
const trustedMs = 5000

/** `isAlive` of one process, for callers that ask again and again. Where that is slow, it looks mostly at the pid. */
export function lookAt(
  process_: ProcessIdentity,
  clock: Pick<Clock, 'now'>,
  table: ProcessTable = systemProcesses,
): () => boolean {
  let seenMs = -Infinity
  return () => {
    const isRecent = clock.now() - seenMs < trustedMs
    if (table.isSlow && isRecent) return isThere(process_.pid)
    if (!isAlive(process_, table)) return false
    seenMs = clock.now()
    return true
  }
}

/** The content of a file, if it is a process identity. */
export function asIdentity(read: unknown): ProcessIdentity | undefined {
  const { pid, startTime } = (read ?? {}) as Partial<ProcessIdentity>
  const isOne = Number.isInteger(pid) && typeof startTime === 'string'
  return isOne ? (read as ProcessIdentity) : undefined
}

/** Sends a signal if the process is still that very one; false when it is not. EPERM is thrown: it means a process of another user. */
export function signalProcess(
  process_: ProcessIdentity,
  signal: NodeJS.Signals,
  table: ProcessTable = systemProcesses,
): boolean {
  if (!isAlive(process_, table)) return false
  try {
    process.kill(process_.pid, signal)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** Living processes that carry the cluster's marker in their environment; where the system does not show it, the recorded ones must do. */
export function processesMarked(
  clusterId: string,
  table: ProcessTable = systemProcesses,
): ProcessIdentity[] {
  return table
    .withVariable(clusterMarker, clusterId)
    .filter((pid) => pid !== process.pid)
    .flatMap((pid) => identify(pid, table) ?? [])
}

interface EndOptions {
  readonly clock: Clock
  readonly graceMs: number
  readonly table?: ProcessTable
  readonly platform?: NodeJS.Platform
}

/**
 * Ends processes that are not our children: TERM to all (and CONT, since a stopped process sees no TERM), KILL to those
 * left after `graceMs`. On Windows TERM ends a process at once, and there is no CONT. Resolves when all are gone; returns how many
 * had been alive.
 */
export async function endProcesses(
  processes: readonly ProcessIdentity[],
  { clock, graceMs, table = systemProcesses, platform = process.platform }: EndOptions,
): Promise<number> {
  const alive = processes.filter((process_) => signalProcess(process_, 'SIGTERM', table))
  if (platform !== 'win32') for (const process_ of alive) signalProcess(process_, 'SIGCONT', table)
  const deadline = clock.now() + graceMs
  let left = alive.map((process_) => ({ process_, runs: lookAt(process_, clock, table) }))
  let killed = false
  while ((left = left.filter(({ runs }) => runs())).length > 0) {
    if (!killed && clock.now() >= deadline) {
      killed = true
      for (const { process_ } of left) signalProcess(process_, 'SIGKILL', table)
    }
    // Only a parent can wait for a process; other processes must poll.
    await clock.sleep(10)
  }
  return alive.length
}
