/** Process identity: a pid plus the time it started, so that a reused pid is never signalled. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Clock } from '../../components/component-base/clock.ts'

export interface ProcessIdentity {
  readonly pid: number
  /** What the operating system says about the start; compared as text, never interpreted. */
  readonly startTime: string
}

/** The environment variable that every process of a cluster inherits; its value is the cluster's id. */
export const clusterMarker = 'SKIFF_CLUSTER_ID'

/** State, process group and start time (proc(5): fields 3, 5 and 22). */
function linuxStat(
  pid: number,
): Readonly<Record<'state' | 'group' | 'startTime', string | undefined>> {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The command name is in parentheses and may hold anything; fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0], group: fields[2], startTime: fields[19] }
}

function linuxStartTime(pid: number): string | undefined {
  const { state, startTime } = linuxStat(pid)
  return state === 'Z' ? undefined : startTime
}

/** Whether a signal (SIGSTOP, or a debugger's) has stopped the process. Known on Linux only. */
export function isStopped(pid: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    return /^[Tt]$/.test(linuxStat(pid).state ?? '')
  } catch {
    return false // it has ended
  }
}

/** When `pid` started, or undefined if it does not exist (a zombie counts as not existing). */
function startTimeOf(pid: number): string | undefined {
  try {
    if (process.platform === 'linux') return linuxStartTime(pid)
    const listed = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return listed.trim() || undefined
  } catch {
    return undefined // no such process
  }
}

/** The identity of a living process, or undefined when it is gone already. */
export function identify(pid: number): ProcessIdentity | undefined {
  const startTime = startTimeOf(pid)
  return startTime === undefined ? undefined : { pid, startTime }
}

export function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  return identify(pid)?.startTime === startTime
}

/** The content of a file, if it is a process identity. */
export function asIdentity(read: unknown): ProcessIdentity | undefined {
  const { pid, startTime } = (read ?? {}) as Partial<ProcessIdentity>
  const isOne = Number.isInteger(pid) && typeof startTime === 'string'
  return isOne ? (read as ProcessIdentity) : undefined
}

/** Sends a signal if the process is still that very one; false when it is not. EPERM is thrown: it means a process of another user. */
export function signalProcess(process_: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(process_)) return false
  try {
    process.kill(process_.pid, signal)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** Whether a process of the group lives; on Linux a zombie, which only its parent can remove, does not count. */
export function isGroupAlive(group: number): boolean {
  try {
    process.kill(-group, 0)
  } catch (error) {
    // EPERM: the processes left in the group belong to another user now.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  if (process.platform !== 'linux') return true
  return readdirSync('/proc').some((entry) => {
    if (!/^[0-9]+$/.test(entry)) return false
    try {
      const stat = linuxStat(Number(entry))
      return stat.group === String(group) && stat.state !== 'Z'
    } catch {
      return false // gone meanwhile
    }
  })
}

/** Living processes that carry the cluster's marker in their environment. Linux only; elsewhere the recorded ones must do. */
export function processesMarked(clusterId: string): ProcessIdentity[] {
  if (process.platform !== 'linux') return []
  const wanted = `${clusterMarker}=${clusterId}`
  const found: ProcessIdentity[] = []
  for (const entry of readdirSync('/proc')) {
    if (!/^[0-9]+$/.test(entry)) continue
    try {
      if (!readFileSync(`/proc/${entry}/environ`, 'latin1').split('\0').includes(wanted)) continue
    } catch {
      continue // gone meanwhile, or another user's
    }
    const identity = identify(Number(entry))
    if (identity !== undefined && identity.pid !== process.pid) found.push(identity)
  }
  return found
}

/**
 * Ends processes that are not our children: TERM to all (and CONT, since a stopped process sees no TERM), KILL to those
 * left after `graceMs`. Resolves when all are gone; returns how many had been alive.
 */
export async function endProcesses(
  processes: readonly ProcessIdentity[],
  { clock, graceMs }: { clock: Clock; graceMs: number },
): Promise<number> {
  const alive = processes.filter((process_) => signalProcess(process_, 'SIGTERM'))
  for (const process_ of alive) signalProcess(process_, 'SIGCONT')
  const deadline = clock.now() + graceMs
  let left = alive
  let killed = false
  while ((left = left.filter(isAlive)).length > 0) {
    if (!killed && clock.now() >= deadline) {
      killed = true
      for (const process_ of left) signalProcess(process_, 'SIGKILL')
    }
    // Only a parent can wait for a process; other processes must poll.
    await clock.sleep(10)
  }
  return alive.length
}
