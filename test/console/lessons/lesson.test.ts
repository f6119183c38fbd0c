/** Lesson files: what is wrong in one is said with file, line and path; what ships is right. */
import { Ajv } from 'ajv'
import { load } from 'js-yaml'
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { conditionShapes } from '../../../console/lessons-engine/check.ts'
import {
  LessonError,
  lessonShape,
  lessonStepShape,
  parseLesson,
  readLesson,
} from '../../../console/lessons-engine/lesson.ts'
import { toolsOf, toolsOfLesson } from '../../../console/lessons-engine/lesson-tools.ts'
import { lessonName, shippedLessons } from '../../../console/lessons-engine/shipped-lessons.ts'
import { codeBlocks, readDoc, root } from '../../docs/markdown.ts'

function faults(text: string): readonly string[] {
  try {
    parseLesson(text, 'tour.yaml')
  } catch (error) {
    expect(error).toBeInstanceOf(LessonError)
    return (error as LessonError).faults
  }
  return []
}

const step = (more = 'check: { expect: { kind: Pod } }'): string =>
  `  - heading: A step\n    text: Do it.\n    command: kubectl get pods\n    explanation: Done.\n    ${more}\n`
const head = 'title: A tour\nsummary: See things.\nsteps:\n'
const schema = JSON.parse(readDoc('docs/reference/lesson.schema.json')) as object
const validate = new Ajv({ allowUnionTypes: true }).compile(schema)

describe('a lesson file', () => {
  test('is read with its steps and its cluster', () => {
    const lesson = parseLesson(
      `cluster: { nodes: 2, flags: { node-agent: { v: 4 } } }\nmakes: [{ kind: Pod, name: web }]\n${head}${step()}`,
      'some/tour.yaml',
    )
    expect(lesson).toMatchObject({
      name: 'tour',
      title: 'A tour',
      summary: 'See things.',
      cluster: { nodes: 2, flags: { 'node-agent': { v: '4' } } },
      ownCluster: false,
      makes: [{ kind: 'Pod', name: 'web' }],
    })
    expect(lesson.steps.map(({ heading, check }) => [heading, check])).toEqual([
      ['A step', { expect: [{ kind: 'Pod' }] }],
    ])
  })

  const wrong: [what: string, text: string, expected: string][] = [
    ['no YAML', 'title: [a\nb: c', 'tour.yaml:2: deficient indentation'],
    ['a missing field', `summary: x\nsteps:\n${step()}`, 'tour.yaml:1: title is missing: a string'],
    [
      'an unknown field',
      `colour: red\n${head}${step()}`,
      'tour.yaml:1: colour: unknown field; known are title, ',
    ],
    ['no step', 'title: a\nsummary: b\nsteps: []', 'tour.yaml:3: steps: has no step'],
    [
      'steps that are no list',
      'title: a\nsummary: b\nsteps: {}',
      'tour.yaml:3: steps: must be a list, not a mapping',
    ],
    [
      'a step without a check',
      `${head}${step('hint: x')}`,
      'tour.yaml:4: steps[0]: check is missing: a mapping',
    ],
    [
      'an empty check',
      `${head}${step('check: {}')}`,
      'tour.yaml:8: steps[0].check: says nothing; it needs one of expect, request, component, answer',
    ],
    [
      'a misspelt field of a check',
      `${head}${step()}${step('check: { expect: { kind: Pod, nmae: web } }')}`,
      'tour.yaml:13: steps[1].check.expect.nmae: unknown field; did you mean name?',
    ],
    [
      'a condition that cannot be read',
      `${head}${step("check: { component: { name: x, where: 'state = ready' } }")}`,
      'tour.yaml:8: steps[0].check.component.where: "state = ready" is not of the form: PATH OPERATOR VALUE (==,',
    ],
    [
      'a request that is sent once only',
      `${head}${step('check: { request: { path: / } }')}`,
      'tour.yaml:8: steps[0].check.request: again is missing: a string, or a list of them',
    ],
    [
      'an answer that no regular expression describes',
      `${head}${step("check: { answer: { question: x, matches: '(' } }")}`,
      'tour.yaml:8: steps[0].check.answer.matches: Invalid regular expression',
    ],
    [
      'an unknown step of an action',
      `${head}${step('action: [{ crate: {} }]\n    check: { expect: { kind: Pod } }')}`,
      'tour.yaml:8: steps[0].action[0].crate: unknown step; did you mean create?',
    ],
    [
      'a variable outside of steps',
      `cluster: { nodes: '\${n}' }\n${head}${step()}`,
      'tour.yaml:1: cluster.nodes: ${n} is unknown here: only steps can use variables',
    ],
    [
      'a flag for no component',
      `cluster:\n  flags:\n    api: {}\n${head}${step()}`,
      'tour.yaml:3: cluster.flags.api: unknown field; known are api-server, ',
    ],
    ['nothing in it', '', 'tour.yaml:1: must be a mapping with title, summary, cluster, '],
  ]

  test.each(wrong)('with %s says where', (_, text, expected) => {
    expect(faults(text)[0]).toContain(expected)
  })

  test('names all of its faults', () => {
    expect(faults(`title: a\nsummary: b\ncolour: c\nsteps:\n${step('check: {}')}`)).toHaveLength(2)
  })

  test('that cannot be read is an error that says so', () => {
    expect(() => readLesson(join(root, 'no-such.yaml'))).toThrow(/no-such\.yaml: no such file/)
    expect(() => readLesson(root)).toThrow(/is a directory/)
  })
})

describe('tools', () => {
  test.each([
    ['kubectl get pods', ['kubectl']],
    ['skiff status --name a | grep x', ['skiff']],
    ['for x in 1; do\n  kubectl get $x\ndone', ['kubectl']],
    ['skiff why pod web -o role | kubectl apply -f -', ['kubectl', 'skiff']],
    ['skiff join $(skiff token create)', ['skiff']],
    ['curl https://kubectl.example.com/skiff', []],
    ['echo kubectl-convert --skiff', []],
  ])('of %j', (command, tools) => {
    expect(toolsOf(command)).toEqual(tools)
  })
})

describe('lesson.schema.json', () => {
  test('accepts what the engine reads', () => {
    for (const text of [
      `${head}${step()}`,
      `ownCluster: true\nvariables: { a: 1 }\n${head}${step("background: true\n    check: { component: { name: '${a}', where: [a exists], save: { b: restarts } } }")}`,
      `${head}${step('action: [{ sleep: 1s }]\n    check: { request: [{ as: { user: a }, path: /, again: [Pod], expect: { status: 403 } }] }')}`,
    ]) {
      parseLesson(text, 'right.yaml')
      validate(load(text))
      expect(validate.errors).toBeNull()
    }
  })

  test.each([
    ['no title', `summary: a\nsteps:\n${step()}`],
    ['no steps', 'title: a\nsummary: b\nsteps: []'],
    ['an empty check', `${head}${step('check: {}')}`],
    ['an unknown field of a step', `${head}${step('chekc: {}')}`],
    [
      'an unknown step of an action',
      `${head}${step('action: [{ slep: 1s }]\n    check: { expect: { kind: Pod } }')}`,
    ],
    ['a variable in the cluster', `cluster: { nodes: '\${n}' }\n${head}${step()}`],
    ['a request without kinds', `${head}${step('check: { request: { path: / } }')}`],
  ])('refuses, as the engine does: %s', (_, text) => {
    expect(() => parseLesson(text, 'wrong.yaml')).toThrow(LessonError)
    expect(validate(load(text))).toBe(false)
  })
})

describe('lessons that ship', () => {
  const shipped = shippedLessons().map((file) => [lessonName(file), file] as const)

  test('are eight, the first one first', () => {
    expect(shipped.map(([name]) => name).slice(0, 2)).toEqual(['first-cluster', 'join'])
    expect(shipped.length).toBeGreaterThanOrEqual(8)
  })

  test.each(shipped)('%s is right, and names its schema', (_, file) => {
    const text = readFileSync(file, 'utf8')
    validate(load(text))
    expect(validate.errors).toBeNull()
    const [, named = ''] = /^# yaml-language-server: \$schema=(.*)\n/.exec(text) ?? []
    const path = relative(root, join(dirname(file), named)).replaceAll('\\', '/')
    expect(path).toBe('docs/reference/lesson.schema.json')
  })

  test.each(shipped)('%s can be done without kubectl, in five to nine steps', (_, file) => {
    const lesson = readLesson(file)
    expect(lesson.steps.length).toBeGreaterThanOrEqual(5)
    expect(lesson.steps.length).toBeLessThanOrEqual(9)
    expect(toolsOfLesson(lesson)).toContain('kubectl')
    const stuck = lesson.steps.filter(
      ({ command, action }) => toolsOf(command).includes('kubectl') && action === undefined,
    )
    expect(stuck.map(({ heading }) => heading)).toEqual([])
  })

  test.each(shipped)('%s is described in docs/lessons.md', (name) => {
    expect(readDoc('docs/lessons.md')).toMatch(new RegExp(`^\\| \`${name}\` +\\|`, 'm'))
  })
})

describe('docs/lessons.md', () => {
  test('names every field', () => {
    const page = readDoc('docs/lessons.md')
    for (const shape of [lessonShape, lessonStepShape]) {
      const fields = Object.keys(shape.fields ?? {})
      expect(fields.length).toBeGreaterThan(5)
      for (const field of fields) expect(page).toContain(`\`${field}\``)
    }
    for (const name of Object.keys(conditionShapes)) expect(page).toContain(`\`${name}\``)
  })

  test('has examples that the engine reads', () => {
    const examples = codeBlocks(readDoc('docs/lessons.md')).filter(
      ({ language }) => language === 'yaml',
    )
    expect(examples.length).toBeGreaterThan(0)
    for (const { text } of examples) {
      parseLesson(text, 'example.yaml')
      validate(load(text))
      expect(validate.errors).toBeNull()
    }
  })
})
