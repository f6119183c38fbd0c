/** Every pair of versions of a kind: what is written in one and comes back through another is the same. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { convertTo } from '../../../components/api/conversions/conversions.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { apiVersionOf, type Resource } from '../../../components/machinery/objects/resource.ts'
import { arbitraryObject } from '../../support/arbitrary-object.ts'

interface Version {
  readonly package: string
  readonly apiVersion: string
  readonly kind: string
}

const quantity = fc
  .integer({ min: 0, max: 10_000 })
  .map((value) => `${value}m`.replace(/^0m$/, '0'))
const positive = fc.integer({ min: 1, max: 999 }).map((value) => `${value}m`)
const name = fc.constantFrom('rps', 'a', 'b/c')
const selector = fc.option(fc.constant({ matchLabels: { a: 'b' } }), { nil: undefined })

/** What a metric is about, by its type. */
function sources(amount: 'target' | 'current') {
  const target = (types: readonly string[]) =>
    fc.constantFrom(...types).chain((type) => {
      const field =
        { Utilization: 'averageUtilization', AverageValue: 'averageValue' }[type] ?? 'value'
      const value = type === 'Utilization' ? fc.integer({ min: 1, max: 200 }) : positive
      return value.map((given) => ({ type, [field]: given }))
    })
  const amounts = (...types: readonly string[]): fc.Arbitrary<unknown> => {
    if (amount === 'target') return target(types)
    return fc.record(
      {
        ...(types.includes('Value') ? { value: quantity } : {}),
        ...(types.includes('AverageValue') ? { averageValue: quantity } : {}),
        ...(types.includes('Utilization')
          ? { averageUtilization: fc.integer({ min: 1, max: 200 }) }
          : {}),
      },
      { requiredKeys: [] },
    )
  }
  const metric = fc.record({ name, selector })
  const describedObject = fc.constant({ kind: 'Service', name: 's', apiVersion: 'v1' })
  const resource = fc.constantFrom('memory', 'example.com/x')
  return [
    fc.record({
      type: fc.constant('Pods'),
      pods: fc.record({ metric, [amount]: amounts('AverageValue') }),
    }),
    fc.record({
      type: fc.constant('Object'),
      object: fc.record({ describedObject, metric, [amount]: amounts('Value', 'AverageValue') }),
    }),
    fc.record({
      type: fc.constant('External'),
      external: fc.record({ metric, [amount]: amounts('Value', 'AverageValue') }),
    }),
    fc.record({
      type: fc.constant('Resource'),
      resource: fc.record({ name: resource, [amount]: amounts('Utilization', 'AverageValue') }),
    }),
    fc.record({
      type: fc.constant('ContainerResource'),
      containerResource: fc.record({
        name: fc.constantFrom('cpu', 'memory'),
        container: fc.constant('c'),
        [amount]: amounts('Utilization', 'AverageValue'),
      }),
    }),
  ] as const
}

const cpu = fc.integer({ min: 1, max: 200 }).map((averageUtilization) => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
}))

/** Autoscalers as validation lets them in; the CPU target stands last, which is its place on the way back from v1. */
const metrics = fc
  .tuple(
    fc.array(fc.oneof(...sources('target')), { maxLength: 3 }),
    fc.option(cpu, { nil: undefined }),
  )
  .map(([others, last]) => [...others, ...(last === undefined ? [] : [last])])
const currentMetrics = fc.array(fc.oneof(...sources('current')), { maxLength: 3 })

function withMetrics(object: KubeObject, [spec, status]: [unknown[], unknown[]]): KubeObject {
  const { metrics: _, ...specRest } = object['spec'] ?? {}
  const { currentMetrics: __, ...statusRest } = object['status'] ?? {}
  return {
    ...object,
    spec: { ...specRest, ...(spec.length === 0 ? {} : { metrics: spec }) },
    status: { ...statusRest, ...(status.length === 0 ? {} : { currentMetrics: status }) },
  }
}

/** In v1 the load of the CPU comes back with a note beside it, which says the same. */
function withoutNotes(object: KubeObject, { package: name }: Version): KubeObject {
  if (name !== 'autoscaling/v1') return object
  const key = 'autoscaling.alpha.kubernetes.io/current-metrics'
  const { annotations, ...metadata } = object.metadata
  const { [key]: _, ...others } = annotations ?? {}
  const isEmpty = Object.keys(others).length === 0
  return { ...object, metadata: isEmpty ? metadata : { ...metadata, annotations: others } }
}

function objectsOf(version: Version): fc.Arbitrary<KubeObject> {
  const { kind, apiVersion } = version
  const free = arbitraryObject(`${version.package}.${kind}`, { kind, apiVersion })
  if (version.package !== 'autoscaling/v2') return free
  return fc.tuple(free, fc.tuple(metrics, currentMetrics)).map(([object, parts]) =>
    // Once more through the decoder's form: fields in its order, none that is unset.
    convertTo(withMetrics(object, parts as [unknown[], unknown[]]), version.package, version),
  )
}

describe.each(Object.values(dialects))('dialect $name', (dialect) => {
  const { all } = resourcesOf(dialect)
  const stored = all.filter(({ virtual }) => !virtual)
  const pairs = stored
    .filter((resource) => resource.package !== resource.storageVersion.package)
    .map((resource) => {
      const { kind, storageVersion } = resource
      const other: Version = { kind, apiVersion: apiVersionOf(resource), package: resource.package }
      return [`${kind} ${resource.package}`, other, { kind, ...storageVersion }] as const
    })

  test('there are several versions of many kinds', () => {
    expect(pairs.map(([title]) => title)).toEqual([
      'Event events/v1',
      'HorizontalPodAutoscaler autoscaling/v1',
      'IPAddress networking/v1alpha1',
      'ServiceCIDR networking/v1alpha1',
      'VolumeAttributesClass storage/v1alpha1',
      'ValidatingAdmissionPolicy admissionregistration/v1beta1',
      'ValidatingAdmissionPolicyBinding admissionregistration/v1beta1',
      'DeviceClass resource/v1alpha3',
      'ResourceClaim resource/v1alpha3',
      'ResourceClaimTemplate resource/v1alpha3',
      'ResourceSlice resource/v1alpha3',
    ])
  })

  test.each(pairs)('%s and the stored version keep all of an object', (_title, other, own) => {
    const there = (object: KubeObject, from: Version, to: Version) =>
      convertTo(object, from.package, to)
    for (const [from, to] of [
      [own, other],
      [other, own],
    ] as const) {
      fc.assert(
        fc.property(objectsOf(from), (object) => {
          const before = JSON.stringify(object)
          const converted = there(object, from, to)
          expect(converted).toMatchObject({ kind: to.kind, apiVersion: to.apiVersion })
          const back = JSON.stringify(withoutNotes(there(converted, to, from), from))
          expect(JSON.parse(back)).toEqual(JSON.parse(before))
          // Nothing of the input was changed.
          expect(JSON.stringify(object)).toBe(before)
        }),
        { numRuns: 300 },
      )
    }
  })

  test('a kind that is stored in its own version has one form', () => {
    const served = new Map<string, Resource[]>()
    for (const resource of stored) {
      const others = served.get(resource.storagePrefix) ?? []
      served.set(resource.storagePrefix, [...others, resource])
    }
    for (const versions of served.values()) {
      const own = versions.filter(
        ({ package: name, storageVersion }) => name === storageVersion.package,
      )
      expect(own, versions[0]?.storagePrefix).toHaveLength(1)
    }
  })
})
