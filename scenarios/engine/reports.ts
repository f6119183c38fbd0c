/** Reports of a run: a summary for the terminal, JUnit XML for CI, JSON for other programs. */
import type { ScenarioResult } from './scenario-result.ts'
import { xml } from './xml.ts'

const seconds = (ms: number): string => (ms / 1000).toFixed(ms < 10_000 ? 2 : 1)

function suite(result: ScenarioResult): string {
  const failed = result.steps.filter((step) => step.outcome === 'failed').length
  const skipped = result.steps.filter((step) => step.outcome === 'not run').length
  const whole = result.failure.length > 0
  const cases = result.steps.map((step) => {
    const attributes = `name="${xml(step.title)}" classname="${xml(result.name)}" time="${seconds(step.durationMs)}"`
    const notes =
      step.notes.length === 0 ? '' : `<system-out>${xml(step.notes.join('\n'))}</system-out>`
    if (step.outcome === 'not run') return `    <testcase ${attributes}><skipped/></testcase>\n`
    if (step.outcome === 'passed') return `    <testcase ${attributes}>${notes}</testcase>\n`
    const [message = ''] = step.failure
    const body = xml(step.failure.join('\n'))
    return `    <testcase ${attributes}><failure message="${xml(message)}">${body}</failure>${notes}</testcase>\n`
  })
  if (whole) {
    const body = xml(result.failure.join('\n'))
    const name = result.steps.length === 0 ? 'start of the cluster' : 'cleanup'
    cases.push(
      `    <testcase name="${name}" classname="${xml(result.name)}"><error message="${xml(result.failure[0] ?? '')}">${body}</error></testcase>\n`,
    )
  }
  return (
    `  <testsuite name="${xml(result.name)}" tests="${cases.length}" failures="${failed}" errors="${whole ? 1 : 0}" ` +
    `skipped="${skipped}" time="${seconds(result.durationMs)}">\n${cases.join('')}  </testsuite>\n`
  )
}

/** One test suite per scenario, one test case per step. */
export function junitReport(results: readonly ScenarioResult[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${results.map(suite).join('')}</testsuites>\n`
}

export function jsonReport(results: readonly ScenarioResult[]): string {
  const failed = results.filter((result) => result.outcome === 'failed').length
  const all = { passed: results.length - failed, failed, scenarios: results }
  return `${JSON.stringify(all, null, 2)}\n`
}

/** The last lines on the terminal: the failed scenarios with their reasons, and the counts. */
export function summary(results: readonly ScenarioResult[]): string {
  const failed = results.filter((result) => result.outcome === 'failed')
  const total = results.reduce((sum, result) => sum + result.durationMs, 0)
  const wall = results.reduce((sum, result) => sum + result.wallMs, 0)
  const took =
    Math.abs(total - wall) < 50
      ? `${seconds(total)} s`
      : `${seconds(total)} s in ${seconds(wall)} s of real time`
  const counts = `${results.length - failed.length} passed, ${failed.length} failed, ${took}\n`
  const names = failed.map((result) => `  ${result.name}: ${reasonOf(result)}\n`).join('')
  return failed.length === 0 ? counts : `failed:\n${names}${counts}`
}

function reasonOf(result: ScenarioResult): string {
  const step = result.steps.find((one) => one.outcome === 'failed')
  return step === undefined
    ? (result.failure[0] ?? 'unknown')
    : `${step.title}: ${step.failure[0] ?? ''}`
}
