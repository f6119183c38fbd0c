/** Sets and maps in lists of custom resources: which elements are the same. */
import { expect, it } from 'vitest'
import type { JSONSchemaProps } from '../../../components/api/generated/types.ts'
import {
  listFaults,
  schemaFaults,
} from '../../../components/api-server/custom-resources/schema-validation.ts'
import { noModules } from '../../../components/api-server/custom-resources/schema-modules.ts'

const places = (list: unknown[], schema: JSONSchemaProps): string[] =>
  listFaults(list, schema, 'list').map(({ field = '' }) => field)
const set: JSONSchemaProps = { type: 'array', 'x-kubernetes-list-type': 'set' }
const map: JSONSchemaProps = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name', 'port'],
}

it('elements of a set are the same by value, whatever the order of their fields, and are told once', () => {
  const list = [{ a: 1, b: { c: [1], d: 2 } }, 1, '1', { b: { d: 2, c: [1] }, a: 1 }, 1, 1]
  expect(places(list, set)).toEqual(['list[3]', 'list[4]'])
  expect(places([[1, 2], [2, 1], { a: null }, {}], set)).toEqual([])
})

it('elements of a map are the same by their keys alone', () => {
  const list = [{ name: 'a', x: 1 }, { name: 'a', port: 1 }, { x: 2, name: 'a' }, { port: 1 }]
  expect(places(list, map)).toEqual(['list[2]'])
})

it('a list as long as a body can be is compared in time that is linear', () => {
  const list = Array.from({ length: 250_000 }, (_, index) => ({ name: `n${index}` }))
  expect(places([...list, { name: 'n7' }], map)).toEqual(['list[250000]'])
})

it('elements of a long map find what they were before in time that is linear, too', () => {
  const item: JSONSchemaProps = {
    type: 'object',
    properties: { name: { type: 'string' }, x: { type: 'integer', maximum: 2 } },
  }
  const list: JSONSchemaProps = { ...map, 'x-kubernetes-list-map-keys': ['name'], items: item }
  const schema: JSONSchemaProps = { type: 'object', properties: { list } }
  const of = (x: number) => Array.from({ length: 250_000 }, (_, i) => ({ name: `n${i}`, x }))
  const before = { list: [...of(1), { name: 'bad', x: 3 }, { x: 4 }] }
  const now = { list: [{ x: 4 }, { name: 'bad', x: 3 }, ...of(2), { name: 'new', x: 5 }] }
  const found = schemaFaults(now, schema, { modules: noModules, old: before }).map(
    ({ field }) => field,
  )
  expect(found).toEqual(['list[250002].x'])
})
