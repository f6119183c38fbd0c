/**
 * Says which rows of docs/spec/ a run of the tests proves: `npm run spec -- REPORT`, where REPORT comes from
 * `npx vitest run --reporter=json --outputFile=REPORT`. Exits with 1 when a row is unproven, with 2 without a usable report.
 */
import { readFileSync } from 'node:fs'
import { messageOf } from '../components/component-base/log.ts'
import { coverageOf, coverageText } from './spec/coverage.ts'
import type { TestReport } from './spec/coverage.ts'
import { readRows } from './spec/rows.ts'

function readReport(path: string): TestReport {
  const report = JSON.parse(readFileSync(path, 'utf8')) as Partial<TestReport>
  if (report.testResults === undefined) throw new Error('it has no testResults')
  return report as TestReport
}

function main(path: string | undefined): number {
  if (path === undefined) {
    process.stderr.write(
      'Usage: npm run spec -- REPORT\n\n' +
        'Make the report first: npx vitest run --reporter=json --outputFile=REPORT\n',
    )
    return 2
  }
  let report: TestReport
  try {
    report = readReport(path)
  } catch (error) {
    process.stderr.write(`error: cannot read the report ${path}: ${messageOf(error)}\n`)
    return 2
  }
  const coverage = coverageOf(readRows(), report)
  process.stdout.write(coverageText(coverage))
  return coverage.unproven.length > 0 ? 1 : 0
}

process.exitCode = main(process.argv[2])
