/** Takes a cluster down: through its supervisor if one answers, otherwise by the recorded and marked processes. */
import type { Clock } from '../components/component-base/clock.ts'
import { readClusterConfig } from './plan/cluster-config.ts'
import type { ClusterConfig } from './plan/cluster-config.ts'
import { ClusterError } from './cluster-error.ts'
import { connectControl } from './control-client.ts'
import type { ComponentStatus } from './control-protocol.ts'
import {
  asIdentity,
  endProcesses,
  isAlive,
  lookAt,
  processesMarked,
} from './state/process-identity.ts'
import type { ProcessIdentity } from './state/process-identity.ts'
import { acquireLock, lockHolder, releaseLock } from './state/lock.ts'
import { readList, removeStateDir, stateDirExists } from './state/state-dir.ts'
import type { StatePaths } from './state/state-dir.ts'

export interface TakeDownOptions {
  readonly clock: Clock
  readonly onComponent?: ((status: ComponentStatus) => void) | undefined
  /** How long processes without a supervisor get between TERM and KILL; default 5 s. */
  readonly graceMs?: number
}

/** For members of etcd of a cluster that goes in any case. */
const leaveWithinMs = 3000

/** Asks the supervisor to stop everything; false if none answers. */
async function askSupervisor(paths: StatePaths, options: TakeDownOptions): Promise<boolean> {
  const control = await connectControl(paths, options.clock).catch((error: unknown) => {
    if (error instanceof ClusterError && error.kind === 'not-running') return undefined
    throw error
  })
  if (control === undefined) return false
  try {
    await control.call('shutdown', {}, options.onComponent)
    return true
  } catch (error) {
    if (error instanceof ClusterError && error.kind === 'not-running') return false
    throw error
  } finally {
    control.close()
  }
}

/** Processes of the cluster that live without a supervisor: the recorded ones, and those that carry its mark. */
function leftProcesses(paths: StatePaths): ProcessIdentity[] {
  let id: string | undefined
  try {
    id = readClusterConfig(paths)?.id
  } catch {
    // A damaged file must not keep users from taking the cluster down: end the processes that can be found.
  }
  const found = new Map<number, ProcessIdentity>()
  const recorded = readList(paths.processes).flatMap((one) => asIdentity(one) ?? [])
  for (const one of recorded) if (isAlive(one)) found.set(one.pid, one)
  if (id !== undefined) for (const one of processesMarked(id)) found.set(one.pid, one)
  return [...found.values()]
}

/** Ends what a supervisor that died has left running; returns how many processes that were. */
export async function endLeftovers(paths: StatePaths, options: TakeDownOptions): Promise<number> {
  const { clock, graceMs = 5000 } = options
  let ended = 0
  // A component may be starting another process at this very moment, so look until nothing is found.
  for (;;) {
    const left = leftProcesses(paths)
    if (left.length === 0) return ended
    ended += await endProcesses(left, { clock, graceMs })
  }
}

/** Stops every process of the cluster, its supervisor last, and gives up a lock that we hold. The state directory stays. */
export async function stopCluster(paths: StatePaths, options: TakeDownOptions): Promise<void> {
  const supervisor = lockHolder(paths)
  if (supervisor !== undefined && supervisor.pid !== process.pid) {
    const answered = await askSupervisor(paths, options)
    const { clock, graceMs = 5000 } = options
    // Asked, it ends by itself within moments; one that does not answer gets a signal.
    if (answered) await waitForEnd(supervisor, { clock, graceMs })
    await endProcesses([supervisor], { clock, graceMs })
  }
  await endLeftovers(paths, options)
  releaseLock(paths)
}

async function waitForEnd(
  process_: ProcessIdentity,
  { clock, graceMs }: { clock: Clock; graceMs: number },
): Promise<void> {
  const deadline = clock.now() + graceMs
  const runs = lookAt(process_, clock)
  while (runs() && clock.now() < deadline) await clock.sleep(5)
}

/** Takes the lock, or says who holds it. On a full disk no process can write a lock. */
async function lockForRemoval(
  paths: StatePaths,
  clock: Clock,
): Promise<{ readonly holder: ProcessIdentity | undefined } | 'gone'> {
  for (;;) {
    if (!stateDirExists(paths)) return 'gone'
    try {
      const lock = acquireLock(paths, clock)
      return { holder: lock.ok ? undefined : lock.holder }
    } catch (error) {
      const { code } = ((error as Error).cause ?? error) as NodeJS.ErrnoException
      if (code === 'ENOSPC' || code === 'EDQUOT') return { holder: lockHolder(paths) }
      // Another process is removing the directory this very moment.
      if (code !== 'ENOENT') throw error
      await clock.sleep(10)
    }
  }
}

/**
 * Members of etcd on this machine leave those of other machines, while they run. Rejects with a ClusterError when the others would
 * have no quorum. Of a cluster whose configuration is damaged nothing is known.
 */
export async function leaveOthers(paths: StatePaths, clock: Clock, waitMs?: number): Promise<void> {
  let config: ClusterConfig | undefined
  try {
    config = readClusterConfig(paths)
  } catch {
    return
  }
  if (config?.etcd?.own === undefined) return
  const { leaveEtcd } = await import('./etcd/leave-etcd.ts')
  await leaveEtcd({ config, paths, clock }, waitMs)
}

/** Stops the cluster and removes its state directory; also when another process does so at the same time. */
export async function removeCluster(paths: StatePaths, options: TakeDownOptions): Promise<void> {
  // The others go on without it, or it stays behind as a member that is lost.
  await leaveOthers(paths, options.clock, leaveWithinMs).catch(() => {})
  await stopCluster(paths, options)
  const lock = await lockForRemoval(paths, options.clock)
  if (lock === 'gone') return
  if (lock.holder !== undefined && lock.holder.pid !== process.pid) {
    throw new ClusterError('already-exists', 'another start of this cluster is in progress')
  }
  removeStateDir(paths)
}
