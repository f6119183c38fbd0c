/** What the Lab reads from a finding of `skiff explore`, and what it says of a file that is none. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { firstDifference } from '../../../console/page/views/lab/finding/first-difference.ts'
import { replayLine } from '../../../console/page/views/lab/finding/replay-line.ts'
import { sentenceOf } from '../../../console/page/views/lab/finding/sentence.ts'
import { readFinding, type Finding } from '../../../console/page/views/lab/finding/read-finding.ts'

const recorded = readFileSync(new URL('../lab/finding.json', import.meta.url), 'utf8')

function read(text: string): Finding {
  const finding = readFinding(text)
  if ('fault' in finding) throw new Error(finding.fault)
  return finding
}

type Document = Record<string, unknown> & {
  plan: Record<string, unknown>
  timelines: Record<'reference' | 'plan' | 'rows', Record<string, unknown>[]>
}

/** The recorded finding with a change. */
function changed(change: (document: Document) => void): string {
  const document = JSON.parse(recorded) as Document
  change(document)
  return JSON.stringify(document)
}

it('reads a finding, and says in a sentence what the controller did wrong', () => {
  const finding = read(recorded)
  expect(sentenceOf(finding)).toBe(
    'After step 1: Secret default/app-a-* was made twice, with the plan “killed after: create secrets default/app-a-*”.',
  )
  expect(finding.faults).toEqual(['kill-after: create secrets default/app-a-*'])
  expect(finding.wrong).toEqual([
    {
      kind: 'made-twice',
      object: 'Secret default/app-a-* #2',
      step: 1,
      text: 'after step 1: Secret default/app-a-* was made twice',
    },
  ])
  expect(finding.rows).toHaveLength(8)
})

it('finds the first difference: the request that met the fault', () => {
  const { rows } = read(recorded)
  const first = firstDifference(rows)
  expect(first).toBe(2)
  expect(rows[first ?? 0]).toMatchObject({
    reference: { text: 'create secrets default/app-a-*', status: 201 },
    plan: { text: 'create secrets default/app-a-*', status: 201, fault: 'killed after' },
  })
  expect(firstDifference(rows.slice(0, 2))).toBe(undefined)
})

it('shows a changed value instead of faults', () => {
  const change = { path: ['spec', 'sizes', 0], value: 3, why: 'its maximum' }
  const values = changed((document) => (document.plan = { kind: 'values', faults: [], change }))
  expect(read(values).faults).toEqual(['spec.sizes.0 becomes 3'])
})

it.each<[string, string]>([
  ['', 'It is not JSON.'],
  ['[]', 'the file must be an object, not a list.'],
  ['{}', 'plan must be an object, not nothing.'],
  [changed((one) => (one['title'] = 7)), 'title must be a text, not 7.'],
  [changed((one) => (one['findings'] = 'none')), 'findings must be a list, not "none".'],
  [
    changed((one) => (one.plan = { kind: 'kill', faults: [{ kind: {} }] })),
    'plan.faults[0].kind must be a text, not an object.',
  ],
  [
    changed((one) => (one.timelines.rows = [{ plan: 99 }])),
    'an entry of timelines.rows must be an index of timelines.plan, not 99.',
  ],
  [
    changed((one) => (one.timelines.reference[0] = { text: 'x', atMs: 'soon' })),
    'timelines.reference[0].atMs must be a number, not "soon".',
  ],
])('says what is wrong with a file that is no finding: %#', (text, fault) => {
  expect(readFinding(text)).toEqual({ fault })
})

it('bounds what it shows: long texts, deep values, and rows without end', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const finding = { kind: 'differs', step: 1, text: 'x'.repeat(1e6), object: 'A', path: 'b' }
  const large = changed((one) => {
    one['findings'] = [{ ...finding, expected: 'DEEP', actual: 'y'.repeat(1e6) }]
    one.timelines.rows = Array.from({ length: 60_000 }, () => ({ reference: 0 }))
  })
  const { wrong, rows, leftOut } = read(large.replace('"DEEP"', deep))
  expect(wrong[0]?.text).toHaveLength(2001)
  expect(wrong[0]?.actual).toHaveLength(2001)
  expect(wrong[0]?.expected).toBe('(nested too deeply to show)')
  expect([rows.length, leftOut]).toEqual([5000, 55_000])
})

it('gives the command that replays the plan beside the file, whatever its name', () => {
  expect(replayLine('01-killed.json')).toBe(
    "skiff explore replay 01-killed.yaml --controller 'COMMAND'",
  )
  expect(replayLine("it's; $(rm -r).JSON")).toBe(
    String.raw`skiff explore replay 'it'\''s; $(rm -r).yaml' --controller 'COMMAND'`,
  )
  expect(replayLine('--help.json')).toBe(
    "skiff explore replay ./--help.yaml --controller 'COMMAND'",
  )
})
