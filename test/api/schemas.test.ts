import { describe, expect, expectTypeOf, test } from 'vitest'
import { findSchema, schemaOf, schemaPackages, structNames } from '../../components/api/schemas.ts'
import type {
  Deployment,
  EventsEvent,
  HorizontalPodAutoscalerV1,
  Pod,
} from '../../components/api/generated/types.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { schemaAt } from '../../components/machinery/schema/schema.ts'

describe('schemas', () => {
  test('every struct of every package parses, and every type it names exists', () => {
    const names = schemaPackages().flatMap((name) =>
      structNames(name).map((struct) => `${name}.${struct}`),
    )
    expect(names.length).toBeGreaterThan(500)
    for (const name of names) expect(schemaOf(name).fields).toBeInstanceOf(Map)
  })

  test('fields come in upstream order, with embedded structs in place', () => {
    expect([...schemaOf('core/v1.Pod').fields.keys()]).toEqual([
      'kind',
      'apiVersion',
      'metadata',
      'spec',
      'status',
    ])
    expect([...schemaOf('core/v1.Volume').fields.keys()].slice(0, 3)).toEqual([
      'name',
      'hostPath',
      'emptyDir',
    ])
  })

  test('a list knows its merge rules', () => {
    const ports = schemaOf('core/v1.Container').fields.get('ports')
    expect(ports).toMatchObject({
      proto: 6,
      atomic: false,
      patchStrategy: ['merge'],
      patchMergeKey: 'containerPort',
      schema: { kind: 'list', listType: 'map', mapKeys: ['containerPort', 'protocol'] },
    })
    expect(schemaOf('core/v1.PodSpec').fields.get('tolerations')?.atomic).toBe(true)
    expect(schemaOf('apps/v1.DeploymentSpec').fields.get('selector')?.atomic).toBe(true)
    expect(schemaOf('core/v1.PersistentVolumeSpec').fields.get('claimRef')?.atomic).toBe(false)
  })

  test('a named type keeps its Go name, and a closed one its values', () => {
    const protocol = schemaOf('core/v1.ContainerPort').fields.get('protocol')
    expect(protocol?.default).toBe('TCP')
    expect(protocol?.schema).toEqual({
      kind: 'string',
      goType: 'v1.Protocol',
      values: { known: ['TCP', 'UDP', 'SCTP'], closed: true },
    })
  })

  test('pointers and fields that are always written are told apart', () => {
    const spec = schemaOf('apps/v1.DeploymentSpec').fields
    expect(spec.get('replicas')).toMatchObject({ pointer: true, omitEmpty: true, required: false })
    expect(spec.get('selector')).toMatchObject({ pointer: true, omitEmpty: false, required: true })
    const event = schemaOf('core/v1.Event').fields.get('reportingComponent')
    expect(event).toMatchObject({ omitEmpty: false, required: false })
  })

  test('a recursive type resolves to itself', () => {
    const props = schemaOf('apiextensions/v1.JSONSchemaProps')
    expect(schemaAt(props, ['properties', 'x', 'not'])).toBe(props)
    expect(schemaOf('apiextensions/v1.JSONSchemaPropsOrBool').union).toBe('schema-or-bool')
  })

  test('protobuf sees embedded structs as messages', () => {
    const volume = schemaOf('core/v1.Volume')
    expect(volume.own.map(({ name }) => name)).toEqual(['name'])
    expect(volume.embedded).toEqual([{ proto: 2, schema: schemaOf('core/v1.VolumeSource') }])
    expect(schemaOf('core/v1.Pod').embedded).toEqual([])
  })

  test('an unknown name is undefined, also one that every object inherits', () => {
    expect(findSchema('core/v1.Nope')).toBeUndefined()
    expect(findSchema('nope/v1.Pod')).toBeUndefined()
    expect(findSchema('constructor.Pod')).toBeUndefined()
    expect(findSchema('__proto__.toString')).toBeUndefined()
  })

  test('kinds are objects to the type checker', () => {
    expectTypeOf<Pod>().toExtend<KubeObject>()
    expectTypeOf<Deployment>().toExtend<KubeObject>()
    expectTypeOf<EventsEvent>().toExtend<KubeObject>()
    expectTypeOf<HorizontalPodAutoscalerV1>().toExtend<KubeObject>()
  })
})
