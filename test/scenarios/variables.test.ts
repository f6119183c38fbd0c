/** Variables where a scenario wants another type, in titles and reports; expected failures; named branches. */
import { beforeEach, describe, expect, test } from 'vitest'
import { junitReport } from '../../scenarios/engine/reports.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { play } from './play.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder('variables')
})
const steps = (text: string, head = '') => play(folder, text, { head })

test('a variable takes the place of a number, a duration, a word from a list, and is checked then', async () => {
  const good = await steps(
    `
  - repeat: { times: '\${n}', steps: [{ sleep: '\${short}' }] }
  - sleep: \${n}ms
`,
    'variables: { n: 2, short: 1ms }',
  )
  expect(good.outcome).toBe('passed')
  const wrong = await steps(
    `  - repeat: { times: '\${n}', steps: [{ sleep: 1ms }] }\n`,
    'variables: { n: many }',
  )
  expect(wrong.steps[0]?.failure).toEqual([
    'steps[0].repeat.times: ${n} must be a whole number from 0 on, not "many"',
  ])
  const inner = await steps(
    `  - repeat: { times: 1, steps: [{ sleep: '\${n}' }] }\n`,
    'variables: { n: 7 }',
  )
  expect(inner.steps[0]?.failure).toEqual([
    'round 1, sleep 7: steps[0].repeat.steps[0].sleep: ${n} must be a duration such as 4s, 200ms or 7d, not 7',
  ])
})

test('the round of a repetition is known in its steps, and in no title', async () => {
  const result = await steps(`
  - repeat: { times: 2, steps: [{ name: 'round \${round}', sleep: 1ms }] }
  - { fails: is not set, sleep: '\${round}' }
`)
  expect(result.outcome).toBe('passed')
  expect(result.steps[0]?.title).toBe('2 times: round ${round}')
})

test('titles, generated ones too, and JUnit show the values; what is not known stays as it is written', async () => {
  const result = await steps(
    `
  - name: wait for \${who} and \${nothing}
    sleep: 1ms
  - sleep: '\${short}'
  - sleep: never
  - name: then \${who}
    sleep: 1ms
`.replace('sleep: never', "repeat: { times: '${bad}', steps: [{ sleep: 1ms }] }"),
    'variables: { who: the <node>, short: 1ms }',
  )
  expect(result.steps.map(({ title }) => title)).toEqual([
    'wait for the <node> and ${nothing}',
    'sleep 1ms',
    '${bad} times: sleep 0.001 s',
    'then the <node>',
  ])
  expect(junitReport([result])).toContain('name="wait for the &lt;node&gt; and ${nothing}"')
})

describe('fails', () => {
  test('a step of any kind that fails as expected passes', async () => {
    const result = await steps(`
  - fails: 'there is no process "x"'
    process: { stop: x }
  - name: nested too
    fails: 'branch b, .* is not set'
    together: { a: [sleep: 1ms], b: [{ sleep: '\${unknown}' }] }
`)
    expect(result.steps.map(({ outcome }) => outcome)).toEqual(['passed', 'passed'])
    expect(result.steps[0]?.title).toBe(`stop process x (fails: there is no process "x")`)
  })

  test('a step that does not fail, or in another way, fails', async () => {
    const succeeds = await steps(`  - { fails: refused, sleep: 1ms }\n`)
    expect(succeeds.steps[0]?.failure).toEqual([
      'it did not fail',
      'expected:',
      '  a failure that matches refused',
      'there was:',
      '  no failure',
    ])
    const other = await steps(`  - { fails: refused, process: { stop: x } }\n`)
    expect(other.steps[0]?.failure.slice(0, 5)).toEqual([
      'it failed with another error',
      'expected:',
      '  a failure that matches refused',
      'there was:',
      '  there is no process "x"; processes: none',
    ])
  })

  test('the end of the scenario’s time is no expected failure', async () => {
    const result = await steps(`  - { fails: '.*', sleep: 100s }\n`, 'timeout: 10ms')
    expect(result.steps[0]?.failure).toEqual(['the scenario took longer than 0.01 s'])
  })
})

test('a failure in a branch says in which one and in which step; every branch that failed is reported', async () => {
  const result = await steps(`
  - together:
      fine: [sleep: 1ms]
      broken: [{ sleep: 1ms }, { name: the odd one, process: { stop: x } }]
      also broken: [{ process: { kill: y } }]
  - together: [[sleep: 1ms]]
`)
  expect(result.steps[0]?.title).toBe(
    'fine: sleep 0.001 s || broken: sleep 0.001 s; the odd one || also broken: kill process y',
  )
  expect(result.steps[0]?.failure).toEqual([
    'branch broken, the odd one: there is no process "x"; processes: none',
    'branch also broken, kill process y: there is no process "y"; processes: none',
  ])
  const unnamed = await steps(`  - together: [[sleep: 1ms], [{ process: { stop: x } }]]\n`)
  expect(unnamed.steps[0]?.failure[0]).toContain('branch 2, stop process x: ')
})
