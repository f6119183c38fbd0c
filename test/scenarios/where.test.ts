/** Conditions and subsets: what they say about an object. */
import { describe, expect, test } from 'vitest'
import { missingFrom } from '../../scenarios/engine/subset.ts'
import { parseCondition, WhereError } from '../../scenarios/engine/where.ts'

const node = {
  metadata: { name: 'node-1', labels: { 'example.com/zone': 'a' }, generation: 7 },
  spec: { taints: [{ key: 'k8s/x', effect: 'NoExecute' }], unschedulable: true },
  status: {
    conditions: [
      { type: 'Ready', status: 'Unknown' },
      { type: 'MemoryPressure', status: 'False' },
    ],
  },
}

describe('a condition', () => {
  test.each([
    ['status.conditions[type=Ready].status == Unknown', true],
    ['status.conditions[type=Ready].status != Unknown', false],
    ['status.conditions[type=Disk].status != True', true],
    ['status.conditions[type=Disk] absent', true],
    ['spec.taints[key=k8s/x] exists', true],
    ['spec.taints[0].effect == NoExecute', true],
    ['spec.taints[1] absent', true],
    ["metadata.labels['example.com/zone'] == a", true],
    ['status.conditions[*].status == False', true],
    ['status.conditions[*].type contains Ready', true],
    ['metadata.generation > 6', true],
    ['metadata.generation >= 8', false],
    ['metadata.generation < 7', false],
    ['spec.unschedulable == true', true],
    ['metadata.name matches ^node-\\d+$', true],
    ['metadata.name matches ^pod', false],
    ['metadata.name == "node-1"', true],
    ['metadata.name.nothing exists', false],
  ])('%s is %s', (text, holds) => {
    expect(parseCondition(text).test(node).holds).toBe(holds)
  })

  test.each([
    ['status.phase', 'is not of the form: PATH OPERATOR VALUE'],
    ['status.phase = Running', 'is not of the form'],
    ['status.phase ==', 'needs a value'],
    ['a..b == c', 'cannot read the path from "..b" on'],
    ['a matches [', 'Invalid regular expression'],
  ])('%s cannot be read, and the message says why', (text, message) => {
    expect(() => parseCondition(text)).toThrow(WhereError)
    expect(() => parseCondition(text)).toThrow(message)
  })
})

describe('a subset', () => {
  test('holds when everything wanted is there, whatever else is', () => {
    expect(missingFrom(node, { spec: { unschedulable: true } })).toEqual([])
  })
  test('names each place that differs', () => {
    expect(
      missingFrom(node, {
        metadata: { name: 'node-2', labels: { 'example.com/zone': 'b' } },
        status: { phase: 'x' },
      }),
    ).toEqual([
      { path: 'metadata.name', wanted: 'node-2', got: 'node-1' },
      { path: "metadata.labels['example.com/zone']", wanted: 'b', got: 'a' },
      { path: 'status.phase', wanted: 'x', got: undefined },
    ])
  })
  test('lists match item by item and in length; null means absent', () => {
    expect(missingFrom({ a: [1, 2] }, { a: [1] })).toHaveLength(1)
    expect(missingFrom({ a: [{ b: 1, c: 2 }] }, { a: [{ b: 1 }] })).toEqual([])
    expect(missingFrom({ a: 1 }, { b: null })).toEqual([])
    expect(missingFrom({ b: 1 }, { b: null })).toHaveLength(1)
  })
})
