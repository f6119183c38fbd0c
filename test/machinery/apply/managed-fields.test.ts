import { describe, expect, it } from 'vitest'
import {
  capped,
  entriesOf,
  ownersOf,
  type Owners,
} from '../../../components/machinery/apply/managed-fields.ts'

const owners = (count: number, more: readonly string[] = []): Owners => {
  const managers = [...more, ...Array.from({ length: count }, (_, n) => `m${n}`)]
  const read = ownersOf(
    managers.map((manager, n) => ({
      manager,
      operation: 'Update',
      apiVersion: 'v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { [`f:${manager}`]: {} },
      time: new Date(n * 1000).toISOString(),
    })),
  )
  if (read === undefined) throw new Error('unreadable')
  return read
}

const shown = (from: Owners): [string | undefined, string[]][] =>
  entriesOf(from).map(({ manager, fieldsV1 }) => [manager, Object.keys(fieldsV1 ?? {})])

describe('more than ten updaters', () => {
  it('lose no field: the oldest become one entry that has all of theirs', () => {
    const left = shown(capped(owners(13)))
    expect(left).toHaveLength(10)
    expect(left[0]).toEqual(['ancient-changes', ['f:m0', 'f:m1', 'f:m2', 'f:m3']])
  })

  it('go into the entry of older changes that is there, wherever it stands', () => {
    for (const place of [0, 1, 2]) {
      const first = ['a', 'b'].toSpliced(place, 0, 'ancient-changes')
      const left = shown(capped(owners(10, first)))
      expect(left).toHaveLength(10)
      const fields = left.flatMap(([, names]) => names).toSorted()
      expect(fields).toEqual(
        shown(owners(10, first))
          .flatMap(([, names]) => names)
          .toSorted(),
      )
    }
  })
})
