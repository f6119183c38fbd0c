import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { schemaOf, schemaPackages, structNames } from '../../../components/api/schemas.ts'
import { decode } from '../../../components/machinery/schema/decode.ts'
import { deepFreeze } from '../../../components/machinery/objects/object.ts'

/** Reuse of the value's parts must not show. */
function decodeAs(kind: string, value: unknown) {
  const schema = schemaOf(kind)
  const decoded = decode<Record<string, any>>(value, schema)
  if (value === undefined) return decoded
  const reusing = decode(JSON.parse(JSON.stringify(value)), schema, { mayReuse: true })
  expect(reusing.problems).toEqual(decoded.problems)
  if (decoded.problems.fatal === undefined) {
    expect(JSON.stringify(reusing.object)).toBe(JSON.stringify(decoded.object))
  }
  return decoded
}

function fatalOf(kind: string, value: unknown): string | undefined {
  return decodeAs(kind, value).problems.fatal
}

const podSpec = (more: object) => ({ spec: { containers: [{ name: 'a', ...more }] } })

describe('canonical form', () => {
  test('unset structs are present, unset lists are null where upstream writes them, zero values go', () => {
    const { object } = decodeAs('apps/v1.Deployment', {
      kind: 'Deployment',
      apiVersion: 'apps/v1',
      metadata: { name: 'x', labels: {}, generation: 0 },
      spec: {
        paused: false,
        selector: { matchLabels: {} },
        template: {
          spec: { containers: null, hostNetwork: false, automountServiceAccountToken: false },
        },
      },
    })
    expect(object).toEqual({
      kind: 'Deployment',
      apiVersion: 'apps/v1',
      metadata: { name: 'x', creationTimestamp: null },
      spec: {
        selector: {},
        template: {
          metadata: { creationTimestamp: null },
          spec: { containers: null, automountServiceAccountToken: false },
        },
        strategy: {},
      },
      status: {},
    })
  })

  test('a service has a load balancer status, a container has resources', () => {
    expect(decodeAs('core/v1.Service', {}).object).toEqual({
      metadata: { creationTimestamp: null },
      spec: {},
      status: { loadBalancer: {} },
    })
    expect(decodeAs('core/v1.Pod', podSpec({})).object.spec.containers).toEqual([
      { name: 'a', resources: {} },
    ])
  })

  test('fields come out in upstream order and map keys sorted, whatever the order sent', () => {
    const sent = {
      status: {},
      spec: { nodeName: 'n', containers: [], volumes: [{ emptyDir: {}, name: 'v' }] },
    }
    const { object } = decodeAs('core/v1.Pod', {
      ...sent,
      metadata: { labels: { b: '1', a: '2' }, name: 'x' },
      kind: 'Pod',
    })
    expect(JSON.stringify(object)).toBe(
      '{"kind":"Pod","metadata":{"name":"x","creationTimestamp":null,"labels":{"a":"2","b":"1"}},' +
        '"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":null,"nodeName":"n"},"status":{}}',
    )
  })

  test('quantities, times and base64 are written one way', () => {
    const pod = decodeAs('core/v1.Pod', {
      metadata: { creationTimestamp: '2024-03-01T01:30:00.5+02:00' },
      ...podSpec({ resources: { limits: { cpu: 0.5, memory: '1024Ki', pods: '1000' } } }),
    }).object
    expect(pod.metadata.creationTimestamp).toBe('2024-02-29T23:30:00Z')
    expect(pod.spec.containers[0].resources.limits).toEqual({
      cpu: '500m',
      memory: '1Mi',
      pods: '1k',
    })
    expect(
      decodeAs('core/v1.Secret', { data: { a: 'QR==', b: 'QUJD\nREVG' } }).object.data,
    ).toEqual({
      a: 'QQ==',
      b: 'QUJDREVG',
    })
    expect(
      decodeAs('certificates/v1.CertificateSigningRequest', { status: { certificate: '' } }).object
        .status,
    ).toEqual({})
    expect(
      decodeAs('coordination/v1.Lease', { spec: { renewTime: '2024-01-01T00:00:00.000001Z' } })
        .object.spec,
    ).toEqual({ renewTime: '2024-01-01T00:00:00.000001Z' })
  })

  test('null is absent, also inside lists and maps, where it is the zero value', () => {
    expect(decodeAs('core/v1.ConfigMap', { data: { a: null }, immutable: null }).object).toEqual({
      metadata: { creationTimestamp: null },
      data: { a: '' },
    })
    const pod = decodeAs('core/v1.Pod', { spec: { containers: [null], volumes: null } }).object
    expect(pod.spec).toEqual({ containers: [{ name: '', resources: {} }] })
  })

  test('a schema may be a list or a boolean, and nests', () => {
    const { object, problems } = decodeAs('apiextensions/v1.JSONSchemaProps', {
      items: [{ type: 'string', x: 1 }],
      additionalProperties: false,
      properties: { a: { additionalProperties: { type: 'object' }, default: { z: null } } },
    })
    expect(problems).toEqual({ fatal: undefined, unknown: [] })
    expect(object).toEqual({
      items: [{ type: 'string' }],
      additionalProperties: false,
      properties: { a: { additionalProperties: { type: 'object' }, default: { z: null } } },
    })
  })

  test('the value is never changed or shared', () => {
    const value = deepFreeze({
      data: { a: 'b' },
      metadata: { managedFields: [{ fieldsV1: { 'f:a': {} } }] },
    })
    const { object } = decodeAs('core/v1.ConfigMap', value)
    object.data.a = 'c'
    object.metadata.managedFields[0].fieldsV1['f:b'] = {}
    expect(value.data.a).toBe('b')
    expect(value.metadata.managedFields[0]?.fieldsV1).toEqual({ 'f:a': {} })
  })
})

describe('[VAL-011] a wrong type is fatal, in the words of Go', () => {
  test.each([
    [
      'core/v1.ConfigMap',
      { data: { a: 1 } },
      'json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    ],
    [
      'core/v1.Pod',
      { spec: { containers: 'no' } },
      'json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container',
    ],
    [
      'core/v1.Pod',
      { spec: { containers: ['no'] } },
      'json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container',
    ],
    [
      'core/v1.Pod',
      podSpec({ env: [{ name: 'a', value: 1 }] }),
      'json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string',
    ],
    [
      'core/v1.Pod',
      podSpec({ ports: [{ protocol: {} }] }),
      'json: cannot unmarshal object into Go struct field ContainerPort.spec.containers.ports.protocol of type v1.Protocol',
    ],
    [
      'core/v1.Pod',
      { metadata: { labels: [] } },
      'json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string',
    ],
    [
      'core/v1.Pod',
      { spec: true },
      'json: cannot unmarshal bool into Go struct field Pod.spec of type v1.PodSpec',
    ],
    [
      'apps/v1.Deployment',
      { spec: { replicas: 1.5 } },
      'json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'apps/v1.Deployment',
      { spec: { replicas: 2 ** 31 } },
      'json: cannot unmarshal number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'apps/v1.Deployment',
      { spec: { replicas: '1' } },
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    ['core/v1.Secret', { data: { a: '***' } }, 'illegal base64 data at input byte 0'],
    [
      'core/v1.Pod',
      podSpec({ resources: { limits: { cpu: 'x' } } }),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      'core/v1.Pod',
      podSpec({ livenessProbe: { httpGet: { port: true } } }),
      'json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type int32',
    ],
    [
      'core/v1.Pod',
      { metadata: { creationTimestamp: 'x' } },
      'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
    ],
    [
      'core/v1.Pod',
      { metadata: { creationTimestamp: 1 } },
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string',
    ],
    [
      'apiextensions/v1.JSONSchemaProps',
      { additionalProperties: 'x' },
      'boolean or JSON schema expected',
    ],
  ])('%s %j', (kind, value, message) => {
    expect(fatalOf(kind, value)).toBe(message)
  })

  test('the first of several counts, but one of a self-decoding type comes before all', () => {
    const value = { data: { a: 1 }, immutable: 'x' }
    expect(fatalOf('core/v1.ConfigMap', value)).toContain('ConfigMap.data')
    expect(
      fatalOf('core/v1.ConfigMap', { ...value, metadata: { creationTimestamp: 'x' } }),
    ).toContain('parsing time')
  })
})

describe('unknown fields', () => {
  const value = { spec: { containers: [{ name: 'a', foo: 1 }], template: { x: {} } }, Kind: 'Pod' }

  test('are dropped, and reported with their paths', () => {
    const { object, problems } = decodeAs('core/v1.Pod', value)
    expect(problems.unknown).toEqual(['spec.containers[0].foo', 'spec.template', 'Kind'])
    expect(JSON.stringify(object)).not.toMatch(/foo|template|Kind/)
  })

  test('are not reported when nobody asks', () => {
    expect(decode(value, schemaOf('core/v1.Pod'), { mode: 'ignore' }).problems.unknown).toEqual([])
  })

  test('inside values of maps have the key in their path', () => {
    const { problems } = decodeAs('apiextensions/v1.JSONSchemaProps', {
      properties: { a: { b: 1 } },
    })
    expect(problems.unknown).toEqual(['properties.a.b'])
  })

  test('reports stop at 100', () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`x${n}`, 1]))
    expect(decodeAs('core/v1.Pod', many).problems.unknown).toHaveLength(100)
  })
})

describe('hostile input', () => {
  test('keys named like prototype members are only data', () => {
    const value = JSON.parse(
      '{"__proto__":{"polluted":1},"constructor":{},"data":{"__proto__":"a","constructor":"b","toString":"c"}}',
    )
    const { object, problems } = decodeAs('core/v1.ConfigMap', value)
    expect(problems).toEqual({ fatal: undefined, unknown: ['__proto__', 'constructor'] })
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype)
    expect(JSON.stringify(object.data)).toBe('{"__proto__":"a","constructor":"b","toString":"c"}')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  test('nesting past the bound is refused, and what is accepted can be written', () => {
    const nest = (depth: number) =>
      JSON.parse('{"a":'.repeat(depth) + '1' + '}'.repeat(depth)) as unknown
    const wrap = (depth: number) => ({ metadata: { managedFields: [{ fieldsV1: nest(depth) }] } })
    const fatal = (kind: string, value: unknown) => decode(value, schemaOf(kind)).problems.fatal
    expect(fatal('core/v1.ConfigMap', wrap(100_000))).toBe('exceeded max depth')
    const schema = JSON.parse('{"not":'.repeat(50_000) + '{}' + '}'.repeat(50_000)) as unknown
    expect(fatal('apiextensions/v1.JSONSchemaProps', schema)).toBe('exceeded max depth')
    const { object, problems } = decodeAs('core/v1.ConfigMap', wrap(1_000))
    expect(problems.fatal).toBeUndefined()
    expect(JSON.stringify(object).length).toBeGreaterThan(5_000)
  })

  test('no JSON value makes a decode throw, and every result is stable', () => {
    const kinds = schemaPackages().flatMap((name) =>
      structNames(name).map((struct) => `${name}.${struct}`),
    )
    const value = (kind: string) => {
      const names = [...schemaOf(kind).fields.keys()]
      return names.length === 0
        ? fc.jsonValue()
        : fc.dictionary(fc.constantFrom(...names), fc.jsonValue())
    }
    const pairs = fc
      .constantFrom(...kinds)
      .chain((kind) => value(kind).map((sent) => ({ kind, sent })))
    fc.assert(
      fc.property(pairs, ({ kind, sent }) => {
        const first = decodeAs(kind, sent)
        if (first.problems.fatal !== undefined) return
        const text = JSON.stringify(first.object)
        const again = decodeAs(kind, JSON.parse(text))
        expect(again.problems).toEqual({ fatal: undefined, unknown: [] })
        expect(JSON.stringify(again.object)).toBe(text)
      }),
      { numRuns: 2000 },
    )
  })
})
