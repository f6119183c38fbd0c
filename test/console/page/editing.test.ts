/** Differences, merges and faults of edits in the console. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fieldFaults, warningsOf } from '../../../console/page/parts/faults.ts'
import { diffLines, shortDiff } from '../../../console/page/views/objects/edit/line-diff.ts'
import { changedManagers, managerText } from '../../../console/page/views/objects/edit/managers.ts'
import { mergeLines } from '../../../console/page/views/objects/edit/merge-lines.ts'

const texts = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 30 })

describe('a difference by line', () => {
  it('is short: lines that stay are not replaced', () => {
    const diff = diffLines(['a', 'b', 'c'], ['a', 'x', 'c', 'd'])
    expect(diff.map(({ is, text }) => `${is} ${text}`)).toEqual([
      'same a',
      'removed b',
      'added x',
      'same c',
      'added d',
    ])
  })

  it('holds both texts, whichever they are', () => {
    fc.assert(
      fc.property(texts, texts, (before, after) => {
        const diff = diffLines(before, after)
        const without = (is: string) => diff.filter((one) => one.is !== is).map(({ text }) => text)
        expect(without('added')).toEqual(before)
        expect(without('removed')).toEqual(after)
      }),
    )
  })

  it('replaces everything rather than looking for more edits than it may', () => {
    const before = Array.from({ length: 3000 }, (_, index) => `a${index}`)
    const after = Array.from({ length: 3000 }, (_, index) => `b${index}`)
    expect(diffLines(before, after)).toHaveLength(6000)
  })

  it('leaves out lines far from any change, and says how many', () => {
    const lines = Array.from({ length: 10 }, (_, index) => String(index))
    const parts = shortDiff(diffLines(lines, lines.with(5, 'x')), 1)
    expect(parts.map((part) => (part.is === 'skipped' ? part.count : part.text))).toEqual([
      4,
      '4',
      '5',
      'x',
      '6',
      3,
    ])
  })
})

describe('own changes on top of a newer version', () => {
  const base = ['a: 1', 'b: 2', 'c: 3', 'd: 4']

  it('keep both where they do not meet', () => {
    const merged = mergeLines(base, base.with(0, 'a: 9'), ['a: 1', 'b: 2', 'c: 7', 'd: 4', 'e: 5'])
    expect(merged).toEqual({ lines: ['a: 9', 'b: 2', 'c: 7', 'd: 4', 'e: 5'], conflicts: [] })
  })

  it('win where both changed a line, and say so', () => {
    const merged = mergeLines(base, base.with(1, 'b: mine'), base.with(1, 'b: theirs'))
    expect(merged.lines).toEqual(base.with(1, 'b: mine'))
    expect(merged.conflicts).toEqual([{ own: 'b: mine', newest: 'b: theirs' }])
  })

  it('are no conflict when both made the same one', () => {
    const same = base.with(1, 'b: same')
    expect(mergeLines(base, same, same)).toEqual({ lines: same, conflicts: [] })
  })

  it('change nothing of the newest version when there are none, and are whole when it is the old one', () => {
    fc.assert(
      fc.property(texts, texts, (from, to) => {
        expect(mergeLines(from, from, to).lines).toEqual(to)
        expect(mergeLines(from, to, from).lines).toEqual(to)
      }),
    )
  })
})

describe('what a write says', () => {
  it('names faults by field', () => {
    const causes = [
      { reason: 'FieldValueInvalid', field: 'spec.replicas', message: 'must be at least 0' },
      { message: 'of the whole object' },
    ]
    expect(fieldFaults({ causes })).toEqual([
      { field: 'spec.replicas', message: 'must be at least 0' },
      { field: '', message: 'of the whole object' },
    ])
    expect([undefined, null, {}, { causes: 'x' }].flatMap(fieldFaults)).toEqual([])
  })

  it('gives the texts of warnings, with quotes in them', () => {
    expect(warningsOf('299 - "use \\"b\\"", 299 - "second, with comma"')).toEqual([
      'use "b"',
      'second, with comma',
    ])
    expect(warningsOf(null)).toEqual([])
  })

  it('names the managers that wrote between two versions', () => {
    const entry = { manager: 'kubectl', operation: 'Apply', time: '1' }
    const status = { manager: 'manager', operation: 'Update', subresource: 'status', time: '1' }
    const object = (...managedFields: object[]) => ({ metadata: { managedFields } }) as never
    const changed = changedManagers(object(entry, status), object(entry, { ...status, time: '2' }))
    expect(changed.map(managerText)).toEqual(['manager of status'])
  })
})
