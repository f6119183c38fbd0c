/** Specification: docs/spec/ lists its rows properly, tests name all of them and no others, and `npm run spec` counts them. */
import { globSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { coverageOf, coverageText } from '../../scripts/spec/coverage.ts'
import { idsIn, readRows } from '../../scripts/spec/rows.ts'
import type { Row } from '../../scripts/spec/rows.ts'
import { readDoc, root } from './markdown.ts'

const rows = readRows()
const ids = new Set(rows.map(({ id }) => id))

describe('docs/spec', () => {
  test('lists every page, and how many rows it has', () => {
    const listed = [
      ...readDoc('docs/spec/index.md').matchAll(/^\| ([A-Z]+) +\| (\d+) +\| .*\]\((.*)\)/gm),
    ]
    const pages = globSync('docs/spec/*.md', { cwd: root }).map((path) => path.split('/').at(-1))
    expect(['index.md', ...listed.map(([, , , page]) => page)].toSorted()).toEqual(pages.toSorted())
    for (const [, area, count, page] of listed) {
      const own = rows.filter((row) => row.page === page)
      expect([page, own.length, ...new Set(own.map((row) => row.area))]).toEqual([
        page,
        Number(count),
        area,
      ])
    }
  })

  test('numbers the rows of an area from 001 on, without a gap', () => {
    expect(rows.length).toBeGreaterThanOrEqual(789)
    for (const area of new Set(rows.map((row) => row.area))) {
      const own = rows.filter((row) => row.area === area).map(({ id }) => id)
      expect(own).toEqual(own.map((_, index) => `${area}-${String(index + 1).padStart(3, '0')}`))
    }
  })

  test('holds no row that is not read: every id in code style at the start of a table row is one', () => {
    const pages = [...new Set(rows.map(({ page }) => page))]
    const written = pages.flatMap((page) => [
      ...readDoc(`docs/spec/${page}`).matchAll(/^\|\s*`?([A-Z]+-\d+)/gm),
    ])
    expect(written.map(([, id]) => id)).toEqual(rows.map(({ id }) => id))
  })
})

/** Ids in the tests' titles, each with its file; comments do not count. */
const named = globSync('test/**/*.ts', { cwd: root })
  .filter((path) => path !== 'test/docs/spec.test.ts')
  .flatMap((path) =>
    readDoc(path)
      .split('\n')
      .filter((line) => !/^\s*(\/\/|\/?\*)/.test(line))
      .flatMap((line) => idsIn(line).map((id) => ({ id, path }))),
  )

describe('tests', () => {
  test('carry no id that is not a row of docs/spec', () => {
    expect(named.filter(({ id }) => !ids.has(id))).toEqual([])
  })

  test('name every row of docs/spec', () => {
    const all = new Set(named.map(({ id }) => id))
    expect(rows.filter(({ id }) => !all.has(id)).map(({ id }) => id)).toEqual([])
  })

  test('carry one id in each pair of square brackets', () => {
    const lists = globSync('test/**/*.ts', { cwd: root }).filter((path) =>
      /\[[A-Z]+-\d{3}[,.][^\]]*\]/.test(readDoc(path)),
    )
    expect(lists).toEqual([])
  })
})

test('ids in comments of the code are rows of docs/spec', () => {
  const areas = [...new Set(rows.map(({ area }) => area))].join('|')
  const mentioned = globSync('{certs,cluster,components,scenarios,scripts}/**/*.ts', { cwd: root })
    .flatMap((path) => [...readDoc(path).matchAll(new RegExp(`\\b(?:${areas})-\\d{3}\\b`, 'g'))])
    .map(([id]) => id)
  expect(mentioned.length).toBeGreaterThan(10)
  expect(mentioned.filter((id) => !ids.has(id))).toEqual([])
})

describe('npm run spec', () => {
  const row = (id: string): Row => ({
    id,
    area: 'WATCH',
    text: `promise ${id}`,
    page: 'watches.md',
  })
  const three = ['WATCH-001', 'WATCH-002', 'WATCH-003'].map(row)
  const report = (...tests: [status: string, fullName: string][]) => ({
    testResults: tests.map(([status, fullName]) => ({ assertionResults: [{ status, fullName }] })),
  })

  test('counts a row as proven by a passing test, also of several ids or under a group', () => {
    const { proven, unproven } = coverageOf(
      three,
      report(['passed', '[WATCH-001] [WATCH-002] both'], ['passed', 'a group [WATCH-003] > one']),
    )
    expect(proven).toEqual(three)
    expect(unproven).toEqual([])
  })

  test('counts a row as unproven without a test, by skipped tests alone, and when one of its tests failed', () => {
    const { unproven, failed } = coverageOf(
      three,
      report(
        ['skipped', '[WATCH-002] skipped'],
        ['passed', '[WATCH-003] passes'],
        ['failed', '[WATCH-003] fails'],
      ),
    )
    expect(unproven.map(({ id }) => id)).toEqual(['WATCH-001', 'WATCH-002', 'WATCH-003'])
    expect(failed).toEqual(['WATCH-003'])
  })

  test('prints each area, unproven rows with their text, unknown ids and the total', () => {
    const text = coverageText(
      coverageOf(
        three,
        report(['passed', '[WATCH-001] [WATCH-999] one'], ['passed', '[WATCH-002] two']),
      ),
    )
    expect(text).toContain('WATCH      2 of 3\n')
    expect(text).toContain('WATCH-003  promise WATCH-003\n')
    expect(text).toContain('ids that are no rows: WATCH-999\n')
    expect(text).toContain('2 of 3 rows are proven.\n')
  })
})
