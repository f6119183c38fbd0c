/** docs/security.md: each vulnerability of its table has a test that names it, and each test's is in the table. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readDoc, root } from './markdown.ts'

const ids = (text: string): string[] => text.match(/CVE-\d{4}-\d+/g) ?? []

interface Row {
  readonly ids: readonly string[]
  readonly file: string
}

const rows: Row[] = readDoc('docs/security.md')
  .split('\n')
  .filter((line) => line.startsWith('| CVE-'))
  .map((line) => {
    const cells = line.split('|').map((cell) => cell.trim())
    return { ids: ids(cells[1] ?? ''), file: (cells.at(-2) ?? '').replaceAll('`', '') }
  })

test('each vulnerability in the table is named by a test of the file beside it', () => {
  expect(rows.length).toBeGreaterThan(0)
  for (const row of rows) {
    const titles = readFileSync(join(root, row.file), 'utf8').match(/\b(?:it|test)\(\s*'.*'/g) ?? []
    expect([row.ids, titles.flatMap(ids)]).toEqual([row.ids, expect.arrayContaining([...row.ids])])
  }
})

test('each vulnerability that a test names is in the table', () => {
  const listed = new Set(rows.flatMap((row) => row.ids))
  const named = globSync('test/**/*.test.ts', { cwd: root })
    .flatMap(
      (path) => readFileSync(join(root, path), 'utf8').match(/\b(?:it|test)\(\s*'.*'/g) ?? [],
    )
    .flatMap(ids)
  expect(named.filter((id) => !listed.has(id))).toEqual([])
})
