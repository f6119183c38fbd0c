/** Coverage: which rows a run of the tests proves. PURE. */
import { idsIn } from './rows.ts'
import type { Row } from './rows.ts'

/** What is read of a report of vitest's `json` reporter. */
export interface TestReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      /** Titles of the groups around the test, and its own. */
      readonly fullName: string
      readonly status: string
    }[]
  }[]
}

export interface Coverage {
  readonly proven: readonly Row[]
  /** Rows that no test proves, or that a failed test carries. */
  readonly unproven: readonly Row[]
  /** Ids of rows that failed tests carry. */
  readonly failed: readonly string[]
  /** Ids in titles that are no rows. */
  readonly unknown: readonly string[]
}

/** A row is proven when tests that carry its id passed and none failed. Skipped tests prove nothing. */
export function coverageOf(rows: readonly Row[], report: TestReport): Coverage {
  const ids = new Set(rows.map(({ id }) => id))
  const passed = new Set<string>()
  const failed = new Set<string>()
  const unknown = new Set<string>()
  for (const { fullName, status } of report.testResults.flatMap((file) => file.assertionResults)) {
    for (const id of idsIn(fullName)) {
      if (!ids.has(id)) unknown.add(id)
      else if (status === 'passed') passed.add(id)
      else if (status === 'failed') failed.add(id)
    }
  }
  const isProven = ({ id }: Row): boolean => passed.has(id) && !failed.has(id)
  return {
    proven: rows.filter(isProven),
    unproven: rows.filter((row) => !isProven(row)),
    failed: [...failed].toSorted(),
    unknown: [...unknown].toSorted(),
  }
}

/** The coverage as text: a line for each area, what is wrong, and the total. */
export function coverageText(coverage: Coverage): string {
  const { proven, unproven, failed, unknown } = coverage
  const all = [...proven, ...unproven]
  const areas = [...new Set(all.map(({ area }) => area))].toSorted()
  const countIn = (rows: readonly Row[], area: string): number =>
    rows.filter((row) => row.area === area).length
  const lines = areas.map(
    (area) => `${area.padEnd(10)} ${countIn(proven, area)} of ${countIn(all, area)}`,
  )
  if (unproven.length > 0) lines.push('', 'No passing test proves:')
  for (const { id, text } of unproven) lines.push(`  ${id}  ${text}`)
  if (failed.length > 0) lines.push('', `Failed tests carry: ${failed.join(' ')}`)
  if (unknown.length > 0) lines.push('', `Titles carry ids that are no rows: ${unknown.join(' ')}`)
  lines.push('', `${proven.length} of ${all.length} rows are proven.`)
  return `${lines.join('\n')}\n`
}
