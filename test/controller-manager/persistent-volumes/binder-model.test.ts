/** Whatever is made and deleted while the server fails and the controller restarts: no volume has two claims, and no claim two volumes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
} from '../../../components/api/generated/types.ts'
import { persistentVolumeBinder } from '../../../components/controller-manager/persistent-volumes/binder.ts'
import { simulatedProvisionerController } from '../../../components/controller-manager/simulated-storage/simulated-provisioner.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import type { FakeCluster } from '../../support/fake-client.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'
import { claim, defaultClass, volume } from '../../support/volumes.ts'

const name = fc.constantFrom('a', 'b', 'c')
const size = fc.constantFrom('1Gi', '2Gi', '3Gi')
const step = fc.oneof(
  fc.record({ do: fc.constant('claim'), name, size, className: fc.constantFrom('', 'standard') }),
  fc.record({ do: fc.constant('volume'), name, size, claim: fc.option(name, { nil: undefined }) }),
  fc.record({
    do: fc.constantFrom('drop-claim', 'drop-volume', 'restart', 'fail', 'wait'),
    name,
    size,
  }),
)

/** Fails for a volume that two claims are bound to, and a claim that two volumes are bound to. */
function check(cluster: FakeCluster, { resources }: ReconcilerHarness): void {
  const claims = cluster.all<PersistentVolumeClaim>(resources.persistentVolumeClaims)
  const volumes = cluster.all<PersistentVolume>(resources.persistentVolumes)
  const used = claims
    .filter(({ status }) => status?.phase === 'Bound')
    .map(({ spec }) => spec?.volumeName)
  expect(used).toHaveLength(new Set(used).size)
  const users = volumes
    .filter(({ status }) => status?.phase === 'Bound')
    .map(({ spec }) => spec?.claimRef?.uid)
  expect(users).toHaveLength(new Set(users).size)
}

test('every volume has one claim, every claim one volume, and all settles', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      let harness = createReconcilerHarness()
      const { cluster, resources } = harness
      const start = () => harness.start(persistentVolumeBinder, simulatedProvisionerController)
      cluster.seed(resources.storageClasses, defaultClass())
      let failures = 0
      cluster.react('*', '*', ({ verb }) => {
        check(cluster, harness)
        if (failures === 0 || !['create', 'update', 'delete'].includes(verb)) return undefined
        failures -= 1
        throw new StatusError('InternalError', 'broken')
      })
      await start()
      let serial = 0
      for (const one of steps) {
        serial += 1
        const held = `default/${one.name}`
        const has = cluster.peek(resources.persistentVolumeClaims, held) !== undefined
        const hasVolume = cluster.peek(resources.persistentVolumes, one.name) !== undefined
        if (one.do === 'claim' && !has && 'className' in one) {
          const facts = { size: one.size, className: one.className, uid: `uid-${serial}` }
          cluster.seed(resources.persistentVolumeClaims, claim(one.name, facts))
        } else if (one.do === 'volume' && !hasVolume && 'claim' in one) {
          const facts = { size: one.size, ...(one.claim && { claim: one.claim }) }
          cluster.seed(resources.persistentVolumes, volume(one.name, facts))
        } else if (one.do === 'drop-claim' && has)
          cluster.remove(resources.persistentVolumeClaims, held)
        else if (one.do === 'drop-volume' && hasVolume)
          cluster.remove(resources.persistentVolumes, one.name)
        else if (one.do === 'fail') failures = 3
        else if (one.do === 'restart') {
          await harness.stop()
          harness = createReconcilerHarness({ cluster })
          await start()
        } else if (one.do === 'wait') await harness.step(1000)
        check(cluster, harness)
      }
      failures = 0
      await harness.step(60_000)
      check(cluster, harness)
      const before = cluster.writes.length
      await harness.step(60_000)
      expect(cluster.writes.slice(before)).toEqual([])
      await harness.stop()
    }),
    { numRuns: 40 },
  )
})
