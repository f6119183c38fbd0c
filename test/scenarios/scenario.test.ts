/** Scenario files: what is wrong in one is said with file, line and path; what ships is right. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseScenario, readScenario, ScenarioError } from '../../scenarios/engine/scenario.ts'

function faults(text: string): readonly string[] {
  try {
    parseScenario(text, 'lab.yaml')
  } catch (error) {
    expect(error).toBeInstanceOf(ScenarioError)
    return (error as ScenarioError).faults
  }
  return []
}

const head = 'description: a test\nsteps:\n'

describe('a scenario file', () => {
  test('is read with its steps, their titles and its cluster', () => {
    const scenario = parseScenario(
      `description: a test\ncluster: { nodes: 2, flags: { node-agent: { v: 4 } } }\ntimeout: 1m30s\nsteps:\n` +
        `  - name: wait a bit\n    sleep: 200ms\n  - component: { kill: api-server }\n`,
      'some/lab.yaml',
    )
    expect(scenario.name).toBe('lab')
    expect(scenario.cluster).toEqual({ nodes: 2, flags: { 'node-agent': { v: '4' } } })
    expect(scenario.timeoutMs).toBe(90_000)
    expect(scenario.steps.map((step) => [step.kind.name, step.title, step.params])).toEqual([
      ['sleep', 'wait a bit', 200],
      ['component', 'kill api-server', { kill: 'api-server' }],
    ])
  })

  test('flags of components take numbers, true and false, as a command line would', () => {
    const { cluster } = parseScenario(
      `${head}  - sleep: 1s\n`.replace(
        'steps:',
        'cluster: { flags: { api-server: { profiling: false, v: 4, feature-gates: "A=true" } } }\nsteps:',
      ),
      'lab.yaml',
    )
    expect(cluster.flags).toEqual({
      'api-server': { profiling: 'false', v: '4', 'feature-gates': 'A=true' },
    })
  })

  const wrong: [what: string, text: string, expected: string][] = [
    ['no YAML', 'steps: [a\nb: c', 'lab.yaml:2: deficient indentation'],
    ['a missing field', 'steps: [sleep: 1s]', 'lab.yaml:1: description is missing: a string'],
    [
      'an unknown field',
      'description: x\nstep: []\nsteps: [sleep: 1s]',
      'lab.yaml:2: step: unknown field; did you mean steps?',
    ],
    [
      'an unknown step',
      `${head}  - sleep: 1s\n  - crate: {}\n`,
      'lab.yaml:4: steps[1].crate: unknown step; did you mean create?',
    ],
    [
      'two steps in one',
      `${head}  - sleep: 1s\n    create: {}\n`,
      'lab.yaml:3: steps[0]: a step has one kind; this one has sleep, create',
    ],
    [
      'a step that does nothing',
      `${head}  - name: hm\n`,
      'lab.yaml:3: steps[0]: the step is empty; it needs one of create, apply, ',
    ],
    [
      'a wrong type',
      `${head}  - expect:\n      kind: Pod\n      within: soon\n`,
      'lab.yaml:5: steps[0].expect.within: must be a duration such as 4s, 200ms or 7d, not "soon"',
    ],
    [
      'a missing field of a step',
      `${head}  - delete:\n      kind: Pod\n`,
      'lab.yaml:3: steps[0].delete: name is missing: a string',
    ],
    [
      'an object without a kind',
      `${head}  - create: { metadata: { name: x } }\n`,
      'lab.yaml:3: steps[0].create: the object has no kind',
    ],
    [
      'a fault deep in nested steps',
      `${head}  - repeat:\n      times: 2\n      steps:\n        - sleep: 1s\n        - node:\n            kil: node-1\n`,
      'lab.yaml:8: steps[0].repeat.steps[1].node.kil: unknown field; did you mean kill?',
    ],
    [
      'a word outside a list of choices',
      'description: x\ncluster:\n  dialect: klingon\nsteps: [sleep: 1s]',
      'lab.yaml:3: cluster.dialect: must be one of kubernetes, svc, not "klingon"',
    ],
    [
      'a flag for no component',
      'description: x\ncluster:\n  flags:\n    api: {}\nsteps: [sleep: 1s]',
      'lab.yaml:4: cluster.flags.api: unknown field; known are api-server, ',
    ],
    [
      'a list as the value of a flag',
      'description: x\ncluster:\n  flags:\n    scheduler: { v: [4] }\nsteps: [sleep: 1s]',
      'lab.yaml:4: cluster.flags.scheduler.v: must be a string, a number, true or false, not a list',
    ],
    [
      'a variable outside of steps',
      "description: x\ntimeout: '${long}'\nsteps: [sleep: 1s]",
      'lab.yaml:2: timeout: ${long} is unknown here: only steps can use variables',
    ],
    [
      'a failure that cannot be read',
      `${head}  - fails: '('\n    sleep: 1s\n`,
      'lab.yaml:3: steps[0].fails: Invalid regular expression',
    ],
    [
      'a branch that is no list',
      `${head}  - together: { one: { sleep: 1s } }\n`,
      'lab.yaml:3: steps[0].together.one: must be a list of steps',
    ],
    ['no branch', `${head}  - together: {}\n`, 'lab.yaml:3: steps[0].together: has no branch'],
    [
      'a command without words',
      `${head}  - run: { expect: { exitCode: 1 } }\n`,
      'lab.yaml:3: steps[0].run: command is missing: a string, or a list of a string, a number, true or false',
    ],
    [
      'a stream that a command does not have',
      `${head}  - run: { command: x, save: { a: stdin } }\n`,
      'lab.yaml:3: steps[0].run.save.a: must be one of stdout, stderr, not "stdin"',
    ],
    [
      'a process that does nothing',
      `${head}  - process: {}\n`,
      'lab.yaml:3: steps[0].process: says nothing; it needs one of name, command, ',
    ],
    [
      'a process with a path for a name',
      `${head}  - process: { name: ../x, command: x }\n`,
      'lab.yaml:3: steps[0].process.name: must be a name of letters, digits,',
    ],
    ['nothing in it', '', 'lab.yaml:1: must be a mapping with description, cluster, timeout, '],
    ['no step', 'description: x\nsteps: []', 'lab.yaml:2: steps: has no step'],
    [
      'a condition that cannot be read',
      `${head}  - expect: { kind: Pod, where: 'status.phase = Running' }\n`,
      'lab.yaml:3: steps[0].expect.where: "status.phase = Running" is not of the form: PATH OPERATOR VALUE (==,',
    ],
    [
      'a regular expression that is none',
      `${head}  - join: { node: n, fails: '(' }\n`,
      'lab.yaml:3: steps[0].join.fails: Invalid regular expression',
    ],
    [
      'a number below zero',
      `${head}  - repeat: { times: -1, steps: [sleep: 1s] }\n`,
      'lab.yaml:3: steps[0].repeat.times: must be a whole number from 0 on, not -1',
    ],
    [
      'a time that is over before it begins',
      `${head}  - sleep: -3s\n`,
      'lab.yaml:3: steps[0].sleep: must be a duration such as 4s, 200ms or 7d, not "-3s"',
    ],
    [
      'a step that names nobody',
      `${head}  - node: {}\n`,
      'lab.yaml:3: steps[0].node: says nothing; it needs one of kill, pause, ',
    ],
    [
      'a title that is no text',
      `${head}  - { name: [a], sleep: 1s }\n`,
      'lab.yaml:3: steps[0].name: must be a string, not a list',
    ],
  ]
  test.each(wrong)('with %s is refused: the message says where and what', (_, text, expected) => {
    const found = faults(text)
    expect(found).toHaveLength(1)
    expect(found[0]).toContain(expected)
  })

  test('all faults of a file are told at once', () => {
    expect(faults(`${head}  - sleep: 3\n  - create: []\n  - dele: {}\n`)).toHaveLength(2)
  })

  test('a condition may hold variables, whose values are not known yet', () => {
    const where = '${path} == 1'
    expect(faults(`${head}  - expect: { kind: Pod, where: ['${where}', '\${whole}'] }\n`)).toEqual(
      [],
    )
  })

  test('that does not exist is named', () => {
    expect(() => readScenario('/nonexistent/lab.yaml')).toThrow(
      '/nonexistent/lab.yaml: no such file',
    )
  })
})

describe('shipped scenarios', () => {
  const folder = join(import.meta.dirname, '..', '..', 'scenarios')
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'))

  test('there are some', () => {
    expect(files.length).toBeGreaterThanOrEqual(7)
  })
  test.each(files)('%s is a scenario', (file) => {
    expect(readScenario(join(folder, file)).steps.length).toBeGreaterThan(2)
  })
})
