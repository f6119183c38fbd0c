import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runGarbageCollector } from '../../../components/controller-manager/garbage-collector/garbage-collector.ts'
import type { KubeObject, OwnerReference } from '../../../components/machinery/objects/object.ts'
import { keyOf } from '../../../components/machinery/objects/object.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { expired } from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'
import { staticResources } from '../../support/static-discovery.ts'

const policies = ['Background', 'Foreground', 'Orphan'] as const

const act = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      of: fc.nat(3),
      owners: fc.array(fc.nat(30), { maxLength: 3 }),
      blocks: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      which: fc.nat(30),
      policy: fc.constantFrom(...policies),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('retie' as const),
      which: fc.nat(30),
      owner: fc.nat(30),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 1000) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'relist' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
)

const collector = {
  name: 'garbage-collector-controller',
  start: (context: ReconcilerHarness['context'], signal: AbortSignal) =>
    runGarbageCollector(() => Promise.resolve(staticResources(context.dialect)), context, signal),
}

describe('the garbage collector', () => {
  it('never deletes an object with a live owner, and in the end leaves none without one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 40 }), async (script) => {
        let harness = createReconcilerHarness()
        const { cluster, resources } = harness
        const kinds = [
          resources.configMaps,
          resources.replicaSets,
          resources.pods,
          resources.clusterRoles,
        ]
        const resourceOf = ({ kind }: { kind?: string }): Resource =>
          kinds.find((resource) => resource.kind === kind) as Resource
        const all = (): KubeObject[] => kinds.flatMap((resource) => cluster.all(resource))
        const ownersOf = ({ metadata }: KubeObject): KubeObject[] =>
          (metadata.ownerReferences ?? []).flatMap((reference) => {
            const resource = resourceOf(reference)
            const key = resource.namespaced ? `default/${reference.name}` : reference.name
            const owner = cluster.peek(resource, key)
            return owner?.metadata.uid === reference.uid ? [owner] : []
          })
        const isWaiting = ({ metadata }: KubeObject): boolean =>
          metadata.deletionTimestamp !== undefined &&
          metadata.finalizers?.includes('foregroundDeletion') === true
        const reference = (owner: KubeObject, blockOwnerDeletion: boolean): OwnerReference => ({
          apiVersion: owner.apiVersion ?? '',
          kind: owner.kind ?? '',
          name: owner.metadata.name ?? '',
          uid: owner.metadata.uid ?? '',
          blockOwnerDeletion,
        })
        const wrong: string[] = []
        let isTest = false
        cluster.react('delete', '*', ({ resource: plural, key, object }) => {
          if (isTest) return undefined
          const resource = kinds.find((one) => one.plural === plural) as Resource
          const live = cluster.peek(resource, key)
          const { preconditions } = object as { preconditions?: { resourceVersion?: string } }
          if (live?.metadata.resourceVersion !== preconditions?.resourceVersion) return undefined
          const solid = live && ownersOf(live).filter((owner) => !isWaiting(owner))
          if (solid !== undefined && solid.length > 0)
            wrong.push(`${plural} ${key} has ${solid.map(keyOf).join()}`)
          return undefined
        })
        await harness.start(collector)
        let count = 0
        for (const step of script) {
          const objects = all()
          const at = (index: number): KubeObject | undefined =>
            objects[index % (objects.length || 1)]
          if (step.kind === 'create') {
            const resource = kinds[step.of] as Resource
            const owners = step.owners
              .flatMap((index) => at(index) ?? [])
              .filter((owner) => resource.namespaced || !resourceOf(owner).namespaced)
            count += 1
            cluster.seed(resource, {
              metadata: {
                name: `o${count}`,
                ...(resource.namespaced ? { namespace: 'default' } : {}),
                ownerReferences: owners.map((owner) => reference(owner, step.blocks)),
              },
            })
          } else if (step.kind === 'delete') {
            const object = at(step.which)
            if (object === undefined) continue
            const { namespace = '', name = '' } = object.metadata
            isTest = true
            const gone = cluster
              .client()
              .resource(resourceOf(object))
              .delete({ namespace, name }, { propagationPolicy: step.policy })
            isTest = false
            await gone
          } else if (step.kind === 'retie') {
            const object = at(step.which)
            const owner = at(step.owner)
            // Only towards older objects, so that no circle comes about.
            const isOlder =
              Number(owner?.metadata.name?.slice(1)) < Number(object?.metadata.name?.slice(1))
            if (object === undefined || owner === undefined || !isOlder) continue
            if (!resourceOf(object).namespaced && resourceOf(owner).namespaced) continue
            cluster.change(resourceOf(object), keyOf(object), ({ metadata }) => {
              metadata.ownerReferences = [reference(owner, true)]
            })
          } else if (step.kind === 'wait') await harness.step(step.ms)
          else if (step.kind === 'relist') {
            cluster.compact()
            cluster.endWatches(expired('too old'))
          } else {
            await harness.stop()
            harness = createReconcilerHarness({ cluster })
            await harness.start(collector)
          }
        }
        await harness.step(120_000)
        await harness.stop()
        expect(wrong).toEqual([])
        for (const object of all()) {
          expect(object.metadata.deletionTimestamp, keyOf(object)).toBeUndefined()
          if (object.metadata.ownerReferences?.length)
            expect(ownersOf(object), keyOf(object)).not.toEqual([])
        }
      }),
      { numRuns: 60 },
    )
  })
})
