/** Differences between two values, and their paths as text. */
import { expect, test } from 'vitest'
import { differences, pathText } from '../../../components/machinery/objects/differences.ts'

test('differences are those between two states', () => {
  expect(differences({ a: { b: 1, c: [1] } }, { a: { b: 2, c: [1] }, d: 3 })).toEqual([
    { path: ['a', 'b'], before: 1, after: 2 },
    { path: ['d'], before: undefined, after: 3 },
  ])
})

test('a list of another length differs as a whole, one of the same length item by item', () => {
  expect(differences({ a: [1, 2], b: [1] }, { a: [1, 3], b: [1, 2] })).toEqual([
    { path: ['a', 1], before: 2, after: 3 },
    { path: ['b'], before: [1], after: [1, 2] },
  ])
})

test('a path is written as conditions of scenarios write it', () => {
  expect(pathText(['spec', 'containers', 0, 'image'])).toBe('spec.containers[0].image')
  expect(pathText(['metadata', 'labels', 'a.b/c'])).toBe("metadata.labels['a.b/c']")
  expect(pathText([])).toBe('')
})
