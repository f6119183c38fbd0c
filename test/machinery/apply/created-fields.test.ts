import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { schemaOf } from '../../../components/api/schemas.ts'
import { compareFields } from '../../../components/machinery/apply/apply-compare.ts'
import { finished } from '../../../components/machinery/values/steps.ts'
import { applyShapeOf } from '../../../components/machinery/apply/apply-shape.ts'
import {
  createdFields,
  unownedMetadata,
} from '../../../components/machinery/apply/created-fields.ts'
import { decode } from '../../../components/machinery/schema/decode.ts'
import {
  deepDifferenceOf,
  emptySet,
  isEmptySet,
  setOf,
  unionOf,
} from '../../../components/machinery/apply/field-set.ts'
import { arbitraryObject } from '../../support/arbitrary-object.ts'

const unowned = setOf(
  ['f:kind'],
  ['f:apiVersion'],
  ...[...unownedMetadata].map((name) => ['f:metadata', `f:${name}`]),
)

/** The same by the general comparison with an empty object. */
function compared(name: string, object: unknown, reset: readonly string[]): string | undefined {
  const schema = schemaOf(name)
  const empty = decode({}, schema).object
  const { added, modified } = finished(compareFields(applyShapeOf(schema), empty, object))
  const dropped = unionOf(unowned, setOf(...reset.map((field) => [`f:${field}`])))
  const set = deepDifferenceOf(unionOf(emptySet, unionOf(added, modified)), dropped)
  return isEmptySet(set) ? undefined : JSON.stringify(set)
}

const kinds = [
  'core/v1.Pod',
  'core/v1.Service',
  'core/v1.ConfigMap',
  'core/v1.Node',
  'core/v1.ServiceAccount',
  'apps/v1.Deployment',
  'apps/v1.StatefulSet',
  'apps/v1.ControllerRevision',
  'rbac/v1.RoleBinding',
  'networking/v1.NetworkPolicy',
  'networking/v1.Ingress',
  'autoscaling/v1.HorizontalPodAutoscaler',
  'certificates/v1.CertificateSigningRequest',
  'flowcontrol/v1.FlowSchema',
  'admissionregistration/v1.ValidatingWebhookConfiguration',
]

describe('the fields of a new object', () => {
  it.each(kinds)('of %s are those in which it differs from an empty one', (name) => {
    const schema = schemaOf(name)
    fc.assert(
      fc.property(arbitraryObject(name, { kind: 'K', apiVersion: 'v1' }), (value) => {
        const { object } = decode(value, schema)
        expect(createdFields(schema, object, ['status'])).toBe(compared(name, object, ['status']))
        expect(createdFields(schema, object, [])).toBe(compared(name, object, []))
      }),
      { numRuns: 40 },
    )
  })

  it('are as a real server lists them', () => {
    const schema = schemaOf('core/v1.Pod')
    const pod = {
      metadata: { name: 'p', labels: { a: 'b' }, finalizers: ['x/y'] },
      spec: {
        containers: [
          { name: 'z', image: 'i', ports: [{ containerPort: 80, protocol: 'TCP' }] },
          { name: 'c', image: 'i', livenessProbe: { httpGet: { port: 80 } } },
        ],
        volumes: [{ name: 'v', emptyDir: {} }],
        tolerations: [{ key: 'k' }],
      },
    }
    const { object } = decode(pod, schema)
    expect(JSON.parse(createdFields(schema, object, ['status']) ?? '')).toEqual({
      'f:metadata': {
        'f:finalizers': { '.': {}, 'v:"x/y"': {} },
        'f:labels': { '.': {}, 'f:a': {} },
      },
      'f:spec': {
        'f:containers': {
          'k:{"name":"c"}': {
            '.': {},
            'f:image': {},
            'f:livenessProbe': { '.': {}, 'f:httpGet': { '.': {}, 'f:port': {} } },
            'f:name': {},
            'f:resources': {},
          },
          'k:{"name":"z"}': {
            '.': {},
            'f:image': {},
            'f:name': {},
            'f:ports': {
              '.': {},
              'k:{"containerPort":80,"protocol":"TCP"}': {
                '.': {},
                'f:containerPort': {},
                'f:protocol': {},
              },
            },
            'f:resources': {},
          },
        },
        'f:tolerations': {},
        'f:volumes': {
          '.': {},
          'k:{"name":"v"}': { '.': {}, 'f:emptyDir': {}, 'f:name': {} },
        },
      },
    })
  })

  it('own an item that comes twice as one', () => {
    const schema = schemaOf('core/v1.Pod')
    const env = [
      { name: 'A', value: '1' },
      { name: 'A', value: '2' },
      { name: 'A', value: '3' },
    ]
    const { object } = decode({ spec: { containers: [{ name: 'c', env }] } }, schema)
    const fields = createdFields(schema, object, ['status'])
    expect(fields).toContain('"f:env":{".":{},"k:{\\"name\\":\\"A\\"}":{}}')
    expect(fields).toBe(compared('core/v1.Pod', object, ['status']))
  })
})
