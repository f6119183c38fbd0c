/** Start lock: names the process that is starting a cluster. A lock whose holder died shows that the start was interrupted. */
import { existsSync } from 'node:fs'
import type { Clock } from '../../components/component-base/clock.ts'
import { ClusterError } from '../cluster-error.ts'
import { acquireLock, lockHolder, releaseLock } from './lock.ts'
import { clearStateDir, nameFlagOf } from './state-dir.ts'
import type { StatePaths } from './state-dir.ts'
import { endLeftovers, stopCluster } from '../take-down.ts'

export interface StartLock {
  /** True when an earlier start was killed halfway; its processes have been ended. */
  readonly followsInterrupted: boolean
  /** False once the directory was removed: another process may have made it anew. */
  isHeld(): boolean
  release(): void
}

/** Both locks of a cluster work alike. */
function startLockOf(paths: StatePaths): StatePaths {
  return { ...paths, lock: paths.startLock }
}

function takeStartLock(paths: StatePaths, options: { name: string; clock: Clock }): StartLock {
  const start = startLockOf(paths)
  const wasThere = existsSync(start.lock)
  const taken = acquireLock(start, options.clock)
  const isHeld = (): boolean => lockHolder(start)?.pid === process.pid
  if (taken.ok) return { followsInterrupted: wasThere, isHeld, release: () => releaseLock(start) }
  // This very process: the cluster's own lock decides between its starts.
  if (taken.holder.pid === process.pid)
    return { followsInterrupted: false, isHeld, release: () => {} }
  throw new ClusterError(
    'already-exists',
    `another start of cluster "${options.name}" is in progress (pid ${taken.holder.pid})`,
    { hint: 'wait for it, or choose another --name' },
  )
}

/**
 * Makes this process the one that starts the cluster, and the holder of its lock. What a start that was killed has left is
 * ended, and removed if it had not come as far as holding data. Throws a ClusterError of kind `already-exists` when the
 * cluster runs or another process is starting it.
 */
export async function lockForStart(
  paths: StatePaths,
  options: { name: string; clock: Clock },
): Promise<StartLock> {
  const { name, clock } = options
  const start = takeStartLock(paths, options)
  try {
    if (start.followsInterrupted) await stopCluster(paths, { clock })
    const lock = acquireLock(paths, clock)
    if (!lock.ok) {
      throw new ClusterError(
        'already-exists',
        `cluster "${name}" is already running (supervisor: pid ${lock.holder.pid})`,
        { hint: `check it with \`skiff status${nameFlagOf(name)}\`, or choose another --name` },
      )
    }
    if (start.followsInterrupted) {
      await endLeftovers(paths, { clock })
      // No store: no client can have relied on the cluster, and its certificates may be incomplete.
      if (!existsSync(paths.store) && !existsSync(paths.replacing)) clearStateDir(paths)
    }
    return start
  } catch (error) {
    start.release()
    throw error
  }
}
