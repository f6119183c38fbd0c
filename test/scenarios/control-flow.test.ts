/** each, try, retry, set, include and matrix: what they run, with which variables, and what they report. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { matrixOf } from '../../scenarios/engine/matrix.ts'
import { parseScenario, readScenario, ScenarioError } from '../../scenarios/engine/scenario.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { play } from './play.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder('control-flow')
})
const steps = (text: string, head = '') => play(folder, text, { head })
const why = ({ steps: ran }: Awaited<ReturnType<typeof play>>): string[] =>
  ran.flatMap(({ failure }) => failure)
/** A step that fails with the value. */
const show = (value: string): string => `fails: '${value}', sleep: '`

test('variables take values of CEL expressions, over numbers, texts and lists', async () => {
  const result = await steps(
    `
  - set: { next: '\${cel:n + 1}', all: '\${cel:names.map(x, x + "!")}' }
  - repeat: { times: '\${cel:next - 2}', steps: [{ sleep: 1ms }] }
  - { ${show('not \\[3,a!,b!\\]|3,a!,b!')}\${next},\${all}' }
`,
    'variables: { n: 2, names: [a, b] }',
  )
  expect(why(result)).toEqual([])
  expect(why(await steps("  - sleep: '${cel:n +}'\n"))[0]).toMatch(
    /^"n \+" is no CEL expression of this place: at 1:\d+: Syntax error/,
  )
  expect(why(await steps("  - sleep: '${cel:none + 1}'\n"))[0]).toContain(
    "undeclared reference to 'none'",
  )
})

test('each runs for every item, also of a variable, and names the item of a failure', async () => {
  const result = await steps(
    `
  - each: { of: [1ms, 2ms], steps: [{ sleep: '\${item}' }] }
  - each: { of: '\${all}', as: wait, steps: [{ sleep: '\${wait}' }] }
`,
    'variables: { all: [1ms, never] }',
  )
  expect(why(result)).toEqual([
    'wait never, sleep never: steps[1].each.steps[0].sleep: ${wait} must be a duration such as 4s, 200ms or 7d, not "never"',
  ])
  expect(
    why(await steps("  - each: { of: '${n}', steps: [{ sleep: 1ms }] }\n", 'variables: { n: 3 }')),
  ).toEqual(['of: must be a list, not 3'])
})

test('branches that run together have items and rounds of their own', async () => {
  const result = await steps(`
  - together:
      - - each: { of: [a, b], steps: [{ sleep: 5ms }, { fails: '"[ab]"', sleep: '\${item}' }] }
      - - each: { of: [c, d], steps: [{ sleep: 5ms }, { fails: '"[cd]"', sleep: '\${item}' }] }
`)
  expect(why(result)).toEqual([])
})

test('try without a failure runs finally alone; catch makes a failure none, and knows it', async () => {
  const result = await steps(`
  - try:
      steps: [{ sleep: 1ms }]
      catch: [{ sleep: '\${caught}' }]
      finally: [{ set: { end: 1ms } }]
  - sleep: '\${end}'
  - try:
      steps: [{ sleep: '\${missing}' }]
      catch: [{ set: { seen: '\${error}' } }]
      finally: [{ set: { last: 1ms } }]
  - { fails: 'must be a duration.* not .*missing', sleep: '\${seen}' }
  - sleep: '\${last}'
`)
  expect(why(result)).toEqual([])
  expect(result.steps[2]?.notes[0]).toMatch(
    /^caught: try, sleep .*: variable \$\{missing\} is not set/,
  )
})

test('try without catch stays a failure after finally has run', async () => {
  const result = await steps(`
  - { fails: missing, try: { steps: [{ sleep: '\${missing}' }], finally: [{ set: { last: 1ms } }] } }
  - sleep: '\${last}'
`)
  expect(why(result)).toEqual([])
})

test('retry runs steps again until they pass, and fails with the last failure', async () => {
  const good = await steps(`
  - retry: { times: 3, every: 1ms, steps: [{ sleep: '\${cel:round < 3 ? "soon" : "1ms"}' }] }
`)
  expect(why(good)).toEqual([])
  expect(good.steps[0]?.notes).toHaveLength(2)
  const bad = await steps(`  - retry: { times: 2, every: 1ms, steps: [{ sleep: '\${none}' }] }\n`)
  expect(why(bad)[0]).toMatch(/^try 2 of 2, sleep .*: variable \$\{none\} is not set/)
})

describe('include', () => {
  const write = (file: string, text: string): string => {
    mkdirSync(join(folder, 'parts'), { recursive: true })
    writeFileSync(join(folder, file), text)
    return join(folder, file)
  }

  test('runs the steps of a file with its parameters, from the folder of that file', async () => {
    write(
      'parts/wait.yaml',
      `description: waits\nparameters: [time]\nvariables: { more: 1ms }\nsteps:\n  - sleep: '\${time}'\n  - sleep: '\${more}'\n  - set: { made: '\${time}' }\n  - include: { file: inner.yaml }\n`,
    )
    write('parts/inner.yaml', `description: inner\nsteps: [{ sleep: 1ms }]\n`)
    const result = await steps(`
  - include: { file: parts/wait.yaml, with: { time: 2ms } }
  - sleep: '\${made}'
  - { fails: variable .*time.* is not set, sleep: '\${time}' }
`)
    expect(why(result)).toEqual([])
    const scenario = readScenario(
      write(
        'all.yaml',
        `description: all\nsteps:\n  - include: { file: parts/wait.yaml, with: { time: 1ms } }\n`,
      ),
    )
    expect(scenario.includes).toEqual([
      join(folder, 'parts/wait.yaml'),
      join(folder, 'parts/inner.yaml'),
    ])
  })

  const faults = (file: string): readonly string[] => {
    try {
      readScenario(join(folder, file))
      return []
    } catch (error) {
      return (error as ScenarioError).faults
    }
  }

  test.each([
    ['a file that is not there', '{ file: none.yaml }', /none\.yaml: no such file$/],
    [
      'a missing parameter',
      '{ file: parts/p.yaml }',
      /main\.yaml:3: steps\[0\]\.include\.file: parts\/p\.yaml needs size: give it in with$/,
    ],
    [
      'an unknown parameter',
      '{ file: parts/p.yaml, with: { size: 1, sise: 2 } }',
      /main\.yaml:3: steps\[0\]\.include\.with: parts\/p\.yaml has no parameter or variable sise; it has size$/,
    ],
    [
      'a fault in the included file',
      '{ file: parts/bad.yaml }',
      /parts\/bad\.yaml:3: steps\[0\]\.slep: unknown step; did you mean sleep\?$/,
    ],
    [
      'a file that includes itself',
      '{ file: parts/loop.yaml }',
      /parts\/loop\.yaml:3: steps\[0\]\.include\.file: files include each other: \.\.\/main\.yaml -> loop\.yaml -> \.\.\/main\.yaml$|files include each other: main\.yaml -> parts\/loop\.yaml -> main\.yaml$/,
    ],
    ['a name with variables', "{ file: '${x}.yaml' }", /the name of a file cannot have variables$/],
  ])('%s is an error that names file and line', (_, params, message) => {
    write('parts/p.yaml', 'description: p\nparameters: [size]\nsteps: [{ sleep: 1ms }]\n')
    write('parts/bad.yaml', 'description: bad\nsteps:\n  - slep: 1ms\n')
    write('parts/loop.yaml', 'description: loop\nsteps:\n  - include: { file: ../main.yaml }\n')
    write('main.yaml', `description: main\nsteps:\n  - include: ${params}\n`)
    const found = faults('main.yaml')
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(message)
  })

  test('a file with parameters cannot run by itself', () => {
    write('p.yaml', 'description: p\nparameters: [size]\nsteps: [{ sleep: 1ms }]\n')
    expect(faults('p.yaml')[0]).toMatch(/p\.yaml: has parameters \(size\): include it/)
  })
})

test('a matrix makes a scenario of each combination, with a name and variables of its own', () => {
  const scenario = parseScenario(
    'description: d\nmatrix: { n: [1, 2], how: [a, b] }\nvariables: { x: "${n}" }\nsteps: [{ sleep: 1ms }]\n',
    'm.yaml',
  )
  const made = matrixOf(scenario)
  expect(made.map(({ name }) => name)).toEqual([
    'm[n=1, how=a]',
    'm[n=1, how=b]',
    'm[n=2, how=a]',
    'm[n=2, how=b]',
  ])
  expect(made[3]?.variables).toEqual({ n: 2, how: 'b', x: '${n}' })
  expect(() =>
    parseScenario('description: d\nmatrix: { n: [] }\nsteps: [{ sleep: 1ms }]\n', 'm.yaml'),
  ).toThrow('m.yaml:2: matrix.n: has no value')
})

test.each([
  [
    'never: { kind: Pod, where: a exists }',
    'steps[0].never: needs one of during, for, and has neither',
  ],
  [
    'holds: { kind: Pod, for: 1s, during: [{ sleep: 1s }] }',
    'steps[0].holds: needs one of during, for, and has both',
  ],
  [
    'happened: { kind: Pod, event: born }',
    'steps[0].happened.event: must be one of created, changed, deleted, not "born"',
  ],
  [
    'happened: { kind: Pod, times: often }',
    'steps[0].happened.times: must be a whole number from 0 on, not "often"',
  ],
  [
    'inOrder: [{ kind: Pod }]',
    'steps[0].inOrder: must be a mapping with events, within, not a list',
  ],
  [
    'expect: { kind: Pod, cel: object. }',
    'steps[0].expect.cel: "object." is no CEL expression of this place',
  ],
  [
    'expect: { kind: Pod, cel: 1 + 1 }',
    'steps[0].expect.cel: "1 + 1" is no CEL expression of this place: must evaluate to bool',
  ],
  [
    "expect: { kind: Pod, where: '{.a[?]} == 1' }",
    'steps[0].expect.where: cannot read the JSONPath "{.a[?]}"',
  ],
  [
    'each: { of: 3, steps: [{ sleep: 1s }] }',
    'steps[0].each.of: must be a list, or a variable that holds one',
  ],
  [
    'each: { of: [1], as: a-b, steps: [{ sleep: 1s }] }',
    'steps[0].each.as: "a-b" must be a name of letters, digits and underscores',
  ],
  [
    'retry: { steps: [{ sleep: 1s }] }',
    'steps[0].retry: times is missing: a whole number from 0 on',
  ],
  ['include: { with: {} }', 'steps[0].include: file is missing: a path'],
])('%s is refused with its line', (step, message) => {
  expect(() => parseScenario(`description: d\nsteps:\n  - ${step}\n`, 'bad.yaml')).toThrow(
    `bad.yaml:3: ${message}`,
  )
})
