import { expect, it } from 'vitest'
import {
  encodedObject,
  encodeForStore,
  storedObject,
} from '../../../components/api-server/watch-cache/object-bytes.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'

const data = { spec: { template: { env: 'a<b && c>d' } } }

it('the data of a ControllerRevision are the bytes that Go clients compare them with', () => {
  const object = {
    kind: 'ControllerRevision',
    apiVersion: 'apps/v1',
    metadata: { name: 'r' },
    data,
  }
  const text = String(encodeForStore(object))
  expect(text).toContain(String.raw`"env":"a\u003cb \u0026\u0026 c\u003ed"`)
  expect(JSON.parse(text)).toMatchObject({ data })
})

// Those of random objects of every kind: test/models/objects.test.ts.
it('fields that a client made up, and values that are not set, are stored as JSON has them', () => {
  const odd = JSON.parse(
    '{"a\\"b":1,"__proto__":{"x":"é\u2028\\ud83d\\ude00"},"metadata":0}',
  ) as object
  const metadata = { uid: 'u', name: 'n', namespace: '', labels: { 'a"': 'ü' } }
  const object = { kind: 'K', ...odd, metadata, none: undefined, list: [null, 'x'] }
  const text = String(encodeForStore(object))
  expect(text).toBe(
    '{"kind":"K","metadata":{"name":"n","uid":"u","resourceVersion":"","labels":{"a\\"":"ü"}},"a\\"b":1,"__proto__":{"x":"é\u2028\u{1f600}"},"list":[null,"x"]}\n',
  )
})

it('the owner of a new object is stored with it', () => {
  const creator = {
    manager: 'm"\u00e4',
    operation: 'Update',
    apiVersion: 'v1',
    subresource: 'status',
    time: '2024-01-02T03:04:05Z',
    fields: '{"f:data":{}}',
  } as const
  const encoded = encodedObject({ metadata: { name: 'n', uid: 'u' }, data }, creator)
  const stored = JSON.parse(String(encoded.bytes)) as KubeObject
  expect(stored.metadata.managedFields).toEqual([
    {
      manager: 'm"\u00e4',
      operation: 'Update',
      apiVersion: 'v1',
      time: '2024-01-02T03:04:05Z',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': {} },
      subresource: 'status',
    },
  ])
  expect(JSON.parse(JSON.stringify(storedObject(encoded)))).toEqual(stored)
})
