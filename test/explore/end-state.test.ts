import { expect, it } from 'vitest'
import { compareStates } from '../../explore/end-state.ts'

const state = (objects: Record<string, unknown>) => new Map(Object.entries(objects))

it('tells what is missing, left behind, made twice and different', () => {
  const expected = state({ 'Pod a': {}, 'Pod b': { spec: { size: 1 } }, 'Secret web-*': {} })
  const actual = state({
    'Pod b': { spec: { size: 2 } },
    'Pod c': {},
    'Secret web-*': {},
    'Secret web-* #2': {},
  })
  expect(compareStates(expected, actual)).toEqual([
    { kind: 'missing', object: 'Pod a' },
    { kind: 'differs', object: 'Pod b', path: 'spec.size', expected: 1, actual: 2 },
    { kind: 'left-behind', object: 'Pod c' },
    { kind: 'made-twice', object: 'Secret web-* #2' },
  ])
})

it('leaves out fields that are ignored, with all below them', () => {
  const [before, after] = [1, 2].map((tries) => state({ 'Pod a': { status: { tries: [tries] } } }))
  if (before === undefined || after === undefined) throw new Error('no states')
  expect(compareStates(before, after)).toHaveLength(1)
  expect(compareStates(before, after, [{ path: 'status.tries' }])).toEqual([])
  expect(compareStates(before, after, [{ id: 'Pod b', path: 'status' }])).toHaveLength(1)
})
