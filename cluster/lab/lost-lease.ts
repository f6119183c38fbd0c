/** Lost leases: another holder takes the lease by which a component leads, and keeps it until the fault ends. */
import type { Lease } from '../../components/api/generated/types.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { microTimestamp } from '../../components/component-base/clock.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import type { Log } from '../../components/component-base/log.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { Client } from '../../components/client/client.ts'
import type { HeldFault } from './levers.ts'

/** Upstream's names of the leases. */
export const leaseNames: Readonly<Record<string, string>> = {
  'controller-manager': 'kube-controller-manager',
  scheduler: 'kube-scheduler',
}
const holder = 'fault-of-the-lab'
const renewEveryMs = 1000
const leaseSeconds = 15

/** Resolves when the lease has another holder. `clock`: the cluster's. The client is closed at the end. */
export async function holdLease(
  name: string,
  { client, clock, log }: { readonly client: Client; readonly clock: Clock; readonly log: Log },
): Promise<HeldFault> {
  const { systemNamespace: namespace } = client.dialect
  const leases = client.resource<Lease>(resourcesOf(client.dialect).leases)
  const ending = new AbortController()
  let fired = 0
  /** The holder's name empty: whoever asks first gets it. */
  const write = async (holderIdentity: string): Promise<void> => {
    const lease = await leases.get({ namespace, name })
    const isTaken = lease.spec?.holderIdentity !== holder
    if (holderIdentity === '' && isTaken) return
    const now = microTimestamp(clock.now())
    const spec = {
      ...lease.spec,
      holderIdentity,
      renewTime: now,
      leaseDurationSeconds: holderIdentity === '' ? 1 : leaseSeconds,
      ...(isTaken ? { acquireTime: now } : {}),
    }
    await leases.update({ ...lease, spec })
    if (isTaken) fired += 1
  }
  const attempt = async (holderIdentity: string): Promise<void> => {
    try {
      await write(holderIdentity)
    } catch (error) {
      // Its leader was faster, or the API server does not answer.
      log.debug('the lease was not written', { name, error: messageOf(error) })
    }
  }
  const keep = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await attempt(holder)
      await clock.sleep(renewEveryMs, ending.signal).catch(() => {}) // it ends
    }
  }
  while (fired === 0) await write(holder).catch((error: unknown) => retryConflict(error))
  const keeping = keep()
  return {
    fired: async () => fired,
    end: async () => {
      ending.abort(new Error('healed'))
      await keeping
      await attempt('')
      client.close()
    },
  }
}

/** Rejects with any other error: there is no such lease, or no answer. */
async function retryConflict(error: unknown): Promise<void> {
  if (!isStatusError(error, 'Conflict')) throw error
}
