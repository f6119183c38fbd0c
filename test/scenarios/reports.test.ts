/** Reports: the same run as a summary, as JUnit XML and as JSON. */
import { expect, test } from 'vitest'
import { jsonReport, junitReport, summary } from '../../scenarios/engine/reports.ts'
import type { ScenarioResult } from '../../scenarios/engine/scenario-result.ts'

const step = { kind: 'sleep', durationMs: 1234, wallMs: 1234, notes: [], failure: [] }
const passed: ScenarioResult = {
  name: 'good',
  file: 'good.yaml',
  description: 'it works',
  outcome: 'passed',
  durationMs: 1234,
  wallMs: 1234,
  steps: [{ ...step, title: 'wait', outcome: 'passed', notes: ['NOT RUN: no kubectl'] }],
  failure: [],
}
const failed: ScenarioResult = {
  ...passed,
  name: 'bad',
  outcome: 'failed',
  steps: [
    {
      ...step,
      title: 'a <b> & "c"',
      outcome: 'failed',
      failure: ['it did not hold within 5 s', 'expected:', '  x < \u0007y'],
    },
    { ...step, title: 'later', outcome: 'not run', durationMs: 0, wallMs: 0 },
  ],
}
const notStarted: ScenarioResult = {
  ...passed,
  name: 'dead',
  outcome: 'failed',
  durationMs: 0,
  wallMs: 0,
  steps: [],
  failure: ['port 6443 is in use'],
}

test('the summary says which failed, where and why', () => {
  expect(summary([passed])).toBe('1 passed, 0 failed, 1.23 s\n')
  expect(summary([passed, failed, notStarted])).toBe(
    'failed:\n  bad: a <b> & "c": it did not hold within 5 s\n  dead: port 6443 is in use\n1 passed, 2 failed, 2.47 s\n',
  )
})

test('JUnit has a suite per scenario and a case per step; text that XML cannot hold is replaced', () => {
  expect(junitReport([passed, failed, notStarted])).toBe(
    `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="good" tests="1" failures="0" errors="0" skipped="0" time="1.23">
    <testcase name="wait" classname="good" time="1.23"><system-out>NOT RUN: no kubectl</system-out></testcase>
  </testsuite>
  <testsuite name="bad" tests="2" failures="1" errors="0" skipped="1" time="1.23">
    <testcase name="a &lt;b&gt; &amp; &quot;c&quot;" classname="bad" time="1.23"><failure message="it did not hold within 5 s">it did not hold within 5 s
expected:
  x &lt; \ufffdy</failure></testcase>
    <testcase name="later" classname="bad" time="0.00"><skipped/></testcase>
  </testsuite>
  <testsuite name="dead" tests="1" failures="0" errors="1" skipped="0" time="0.00">
    <testcase name="start of the cluster" classname="dead"><error message="port 6443 is in use">port 6443 is in use</error></testcase>
  </testsuite>
</testsuites>
`,
  )
})

test('JSON holds everything, with the counts first', () => {
  const parsed = JSON.parse(jsonReport([passed, failed])) as { passed: number; scenarios: unknown }
  expect(parsed.passed).toBe(1)
  expect(parsed.scenarios).toEqual([passed, failed])
})
