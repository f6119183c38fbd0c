/** What nodes may get, after pods and volumes came, were bound, changed and went in any order, against a model that looks at all. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { attributes, nodeUser } from '../api-server/authz/attributes.ts'
import { authorizationOf } from '../support/authorization.ts'
import { FakeReader } from '../support/fake-reader.ts'
import {
  nodeMayGet,
  podObject,
  volumeObject,
  type ModelCluster,
  type ModelPod,
  type ModelVolume,
  type NodeKind,
} from './authorization/node-model.ts'
import { parametersOf } from './replay.ts'

const namespace = fc.constantFrom('a', 'b')
const nodeName = fc.constantFrom('n1', 'n2')
const name = fc.constantFrom('x', 'y', 'z')
const place = fc.record({ namespace, name })
const names = fc.subarray(['x', 'y', 'z'], { maxLength: 2 })

const pod: fc.Arbitrary<ModelPod> = fc.record({
  namespace,
  name: fc.constantFrom('p', 'q'),
  nodeName: fc.oneof({ weight: 3, arbitrary: nodeName }, fc.constant('')),
  isMirror: fc.nat(5).map((roll) => roll === 0),
  secrets: names,
  configMaps: names,
  claims: names,
  account: name,
})
const volume: fc.Arbitrary<ModelVolume> = fc.record({
  name: fc.constantFrom('v', 'w'),
  claim: fc.option(place, { nil: undefined }),
  secret: fc.option(place, { nil: undefined }),
})
type Step =
  | { readonly what: 'pod'; readonly pod: ModelPod }
  | {
      readonly what: 'bind'
      readonly at: { readonly namespace: string; readonly name: string }
      readonly nodeName: string
    }
  | { readonly what: 'end'; readonly at: { readonly namespace: string; readonly name: string } }
  | { readonly what: 'volume'; readonly volume: ModelVolume }
  | { readonly what: 'drop'; readonly name: string }
const podAt = fc.record({ namespace, name: fc.constantFrom('p', 'q') })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ what: fc.constant('pod' as const), pod }),
  fc.record({ what: fc.constant('bind' as const), at: podAt, nodeName }),
  fc.record({ what: fc.constant('end' as const), at: podAt }),
  fc.record({ what: fc.constant('volume' as const), volume }),
  fc.record({ what: fc.constant('drop' as const), name: fc.constantFrom('v', 'w') }),
)
const kinds: readonly NodeKind[] = [
  'secrets',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'persistentvolumes',
  'pods',
]
const question = fc
  .record({ nodeName, kind: fc.constantFrom(...kinds), namespace, name })
  .map((asked) => {
    if (asked.kind === 'pods') return { ...asked, name: asked.name === 'x' ? 'p' : 'q' }
    if (asked.kind !== 'persistentvolumes') return asked
    return { ...asked, namespace: '', name: asked.name === 'x' ? 'v' : 'w' }
  })

describe.each([dialects.kubernetes, dialects.svc])(
  'the Node authorizer, dialect $name',
  (dialect) => {
    const resources = resourcesOf(dialect)
    const mirrorKey = `${dialect.labelDomain}/config.mirror`

    function apply(one: Step, cluster: ModelCluster, reader: FakeReader): void {
      const put = (changed: ModelPod): void => {
        cluster.pods.set(`${changed.namespace}/${changed.name}`, changed)
        reader.put(resources.pods, podObject(changed, mirrorKey))
      }
      switch (one.what) {
        case 'pod':
          return put(one.pod)
        case 'bind': {
          const known = cluster.pods.get(`${one.at.namespace}/${one.at.name}`)
          if (known !== undefined) put({ ...known, nodeName: one.nodeName })
          return
        }
        case 'end':
          if (cluster.pods.delete(`${one.at.namespace}/${one.at.name}`)) {
            reader.remove(resources.pods, one.at.namespace, one.at.name)
          }
          return
        case 'volume':
          cluster.volumes.set(one.volume.name, one.volume)
          reader.put(resources.persistentVolumes, volumeObject(one.volume))
          return
        case 'drop':
          if (cluster.volumes.delete(one.name))
            reader.remove(resources.persistentVolumes, '', one.name)
      }
    }

    it('opens to a node what its pods need and nothing else, whatever the order of events', () => {
      let decisions = 0
      let allowed = 0
      const property = fc.property(
        fc.array(fc.tuple(step, fc.array(question, { maxLength: 4 })), {
          minLength: 8,
          maxLength: 24,
        }),
        (steps) => {
          const reader = new FakeReader()
          const cluster: ModelCluster = { pods: new Map(), volumes: new Map() }
          const { authorizer, stop } = authorizationOf(['Node'], { reader, dialect })
          for (const [one, questions] of steps) {
            apply(one, cluster, reader)
            for (const asked of questions) {
              const found = authorizer.authorize(
                attributes({
                  user: nodeUser(asked.nodeName),
                  resource: asked.kind,
                  namespace: asked.namespace,
                  name: asked.name,
                }),
              )
              const expected = nodeMayGet(cluster, asked)
              decisions += 1
              if (expected) allowed += 1
              expect([found, asked]).toMatchObject([
                { decision: expected ? 'allow' : 'no-opinion' },
                asked,
              ])
            }
          }
          stop()
        },
      )
      fc.assert(property, parametersOf(800))
      if (process.env['MODEL_RUNS'] !== undefined) return
      expect(decisions).toBeGreaterThan(20_000)
      expect(allowed).toBeGreaterThan(decisions / 20)
    }, 300_000)
  },
)
