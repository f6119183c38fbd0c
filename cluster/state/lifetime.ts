/** Lifetime: when the supervisor deletes its cluster without a command, as `skiff down` does. */
import type { Clock } from '../../components/component-base/clock.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ClusterEnd } from '../control-protocol.ts'
import { identify, isAlive, lookAt } from './process-identity.ts'
import type { ProcessIdentity } from './process-identity.ts'

export interface Lifetime {
  /** The cluster ends with this process. A later process with the same pid is not it. */
  readonly parent?: ProcessIdentity | undefined
  /** The cluster ends this long after its supervisor has started. */
  readonly ttlMs?: number | undefined
}

const lookEveryMs = 500

/** The process that has the pid now. Throws a ClusterError of kind `usage` if no process has it. */
export function parentOf(pid: number): ProcessIdentity {
  const parent = pid > 0 ? identify(pid) : undefined
  if (parent !== undefined) return parent
  throw new ClusterError('usage', `--parent ${pid}: no such process`, {
    hint: 'pass the pid of a running process, such as $$ in a shell',
  })
}

/**
 * Resolves with the reason when the cluster is to end; never when nothing but a command ends it. Looks for the parent twice a
 * second: the system reports a process's end to its own parent alone. Rejects with `signal.reason`.
 */
export async function lifetimeOver(
  { parent, ttlMs }: Lifetime,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<string> {
  const never = new Promise<never>(() => {})
  const parentGone = async (one: ProcessIdentity): Promise<string> => {
    const runs = lookAt(one, clock)
    while (runs()) await clock.sleep(lookEveryMs, signal)
    return `its parent, pid ${one.pid}, has ended`
  }
  const expired = async (ms: number): Promise<string> => {
    await clock.sleep(ms, signal)
    return 'its ttl has expired'
  }
  return await Promise.race([
    parent === undefined ? never : parentGone(parent),
    ttlMs === undefined ? never : expired(ttlMs),
  ])
}

/**
 * The error of a start that failed because the cluster's lifetime was over first: whatever failed, failed because the supervisor
 * took the cluster down. Undefined while the lifetime lasts.
 */
export function endedMeanwhile(
  { parent, ttlMs }: Lifetime,
  { tookMs, cause }: { tookMs: number; cause: unknown },
): ClusterError | undefined {
  if (parent !== undefined && !isAlive(parent)) {
    return new ClusterError(
      'failed',
      `--parent ${parent.pid}: this process ended before the cluster was ready`,
      {
        hint: 'pass the pid of a process that runs as long as the cluster is needed',
        cause,
      },
    )
  }
  if (ttlMs !== undefined && tookMs >= ttlMs) {
    return new ClusterError(
      'failed',
      `--ttl ${ttlMs / 1000}s: this time was over before the cluster was ready`,
      {
        hint: 'allow more time with --ttl',
        cause,
      },
    )
  }
  return undefined
}

/** What `status` says about it. */
export function endOf({ parent, ttlMs }: Lifetime, startedMs: number): ClusterEnd | undefined {
  if (parent === undefined && ttlMs === undefined) return undefined
  return {
    ...(parent === undefined ? {} : { withPid: parent.pid }),
    ...(ttlMs === undefined ? {} : { atMs: startedMs + ttlMs }),
  }
}
