/** Holding a stopped cluster: nothing starts it while its store is replaced. */
import type { Clock } from '../../components/component-base/clock.ts'
import { ClusterError } from '../cluster-error.ts'
import { acquireLock, releaseLock } from '../state/lock.ts'
import { nameFlagOf } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { endLeftovers } from '../take-down.ts'

/** Ends what a supervisor that died has left running. Rejects with a ClusterError when the cluster runs. */
export async function holdStopped(
  paths: StatePaths,
  { name, clock }: { readonly name: string; readonly clock: Clock },
): Promise<{ release(): void }> {
  const lock = acquireLock(paths, clock)
  if (!lock.ok) {
    throw new ClusterError(
      'already-exists',
      `cluster "${name}" runs (supervisor: pid ${lock.holder.pid})`,
      { hint: `stop it first: skiff down --keep-data${nameFlagOf(name)}` },
    )
  }
  const release = (): void => releaseLock(paths)
  try {
    await endLeftovers(paths, { clock })
  } catch (error) {
    release()
    throw error
  }
  return { release }
}
