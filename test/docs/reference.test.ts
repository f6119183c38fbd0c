/** Reference: docs/reference/ holds what the code declares, all of it, and its JSON Schema accepts what the engine reads. */
import { Ajv } from 'ajv'
import { load } from 'js-yaml'
import { globSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseScenario } from '../../scenarios/engine/scenario.ts'
import { components } from '../../scripts/reference/components.ts'
import { declaredMetrics } from '../../scripts/reference/metrics.ts'
import { generateReference } from '../../scripts/reference.ts'
import { codeBlocks, readDoc, root } from './markdown.ts'

test('every file of docs/reference is up to date: if not, run `npm run reference`', async () => {
  const generated = await generateReference()
  expect(readdirSync(join(root, 'docs/reference')).toSorted()).toEqual(
    [...generated.keys()].toSorted(),
  )
  const stale = [...generated].filter(([name, text]) => readDoc(`docs/reference/${name}`) !== text)
  expect(stale.map(([name]) => name)).toEqual([])
})

test('every component has a page of flags', () => {
  const programs = globSync('{components/*,console}/main.ts', { cwd: root }).map((path) =>
    basename(dirname(path)),
  )
  expect(components.map(({ name }) => name).toSorted()).toEqual(programs.toSorted())
})

describe('metrics', () => {
  const declaring = globSync('components/**/*.ts', { cwd: root })
    .filter((path) => path !== 'components/component-base/metrics.ts')
    .filter((path) => /\bmetrics\s*\.(counter|gauge|histogram|observed)\(/.test(readDoc(path)))

  test('of every file that declares some are in the reference', () => {
    expect(declaring.length).toBeGreaterThan(10)
    const imported = (path: string): string[] =>
      [...readDoc(path).matchAll(/from '([^']+)'/g)].map(([, from = '']) => join(path, '..', from))
    const page = 'scripts/reference/metrics.ts'
    const called = new Set(imported(page))
    // Files of metrics call each other.
    for (const path of called)
      if (path.endsWith('-metrics.ts')) for (const next of imported(path)) called.add(next)
    expect(declaring.filter((path) => !called.has(path))).toEqual([])
  })

  test('whose names stand in the sources are in the reference', () => {
    const named = declaring.flatMap((path) =>
      [...readDoc(path).matchAll(/\bname: '([a-z_]+_[a-z_]+)'/g)].map(([, name]) => name),
    )
    expect(named.length).toBeGreaterThan(40)
    const declared = new Set([...declaredMetrics().values()].flat().map(({ name }) => name))
    expect(named.filter((name) => !declared.has(name ?? ''))).toEqual([])
  })
})

describe('scenario.schema.json', () => {
  const schema = JSON.parse(readDoc('docs/reference/scenario.schema.json')) as object
  const validate = new Ajv({ allowUnionTypes: true }).compile(schema)
  const shipped = globSync('scenarios/*.yaml', { cwd: root })

  test.each(shipped)('accepts %s', (path) => {
    validate(load(readDoc(path)))
    expect(validate.errors).toBeNull()
  })

  test.each(shipped)('is named in the first line of %s', (path) => {
    const [, file = ''] = /^# yaml-language-server: \$schema=(.*)\n/.exec(readDoc(path)) ?? []
    expect(join(path, '..', file)).toBe('docs/reference/scenario.schema.json')
  })

  test('accepts every example of docs/scenarios.md', () => {
    const examples = codeBlocks(readDoc('docs/scenarios.md')).filter(
      ({ language }) => language === 'yaml',
    )
    expect(examples.length).toBeGreaterThan(2)
    for (const { text } of examples) {
      validate(load(text))
      expect(validate.errors).toBeNull()
    }
  })

  const step = (text: string): string => `description: one\nsteps:\n  - ${text}\n`

  test.each([
    step('create: { kind: Pod, metadata: { name: web } }'),
    step('{ name: a title, fails: gone, sleep: 1m30s }'),
    step("repeat: { times: '${n}', steps: [{ sleep: 0s }] }"),
    step("sleep: '${pause}'"),
    step('together: [[{ sleep: 1s }], [{ sleep: 1s }]]'),
    step('together: { one: [{ sleep: 1s }] }'),
    step('token: { save: token, ttl: -1h }'),
    step('expect: { kind: Pod, count: { atLeast: 1 }, where: [a exists] }'),
    step('run: { command: make, env: { N: 1, B: true }, save: { out: stdout } }'),
    step('request: { path: /, as: { user: alice, groups: [web] } }'),
    `cluster: { flags: { scheduler: { v: 4 } } }\ntimeout: 5m\n${step('sleep: 1s')}`,
  ])('accepts what the engine reads: %s', (text) => {
    parseScenario(text, 'right.yaml')
    validate(load(text))
    expect(validate.errors).toBeNull()
  })

  test.each([
    ['no description', 'steps: [{ sleep: 1s }]'],
    ['no steps', 'description: one'],
    ['an empty list of steps', 'description: one\nsteps: []'],
    ['an unknown field', `colour: red\n${step('sleep: 1s')}`],
    ['an unknown component', `cluster: { flags: { kubelet: {} } }\n${step('sleep: 1s')}`],
    ['a negative number of nodes', `cluster: { nodes: -1 }\n${step('sleep: 1s')}`],
    ['a variable outside of steps', `timeout: '\${n}'\n${step('sleep: 1s')}`],
    ['a variable in the cluster', `cluster: { nodes: '\${n}' }\n${step('sleep: 1s')}`],
    ['a timeout without a unit', `timeout: 5\n${step('sleep: 1s')}`],
    ['an unknown step', step('slep: 1s')],
    ['a step that does nothing', step('name: nothing')],
    ['two things in one step', step('{ sleep: 1s, run: { command: make } }')],
    ['a time that is none', step('sleep: soon')],
    ['a negative time', step('sleep: -1s')],
    ['an unknown field of a step', step('delete: { kind: Pod, name: web, nmespace: web }')],
    ['a missing field of a step', step('delete: { kind: Pod }')],
    ['an unknown choice', step('patch: { kind: Pod, name: web, type: yaml, patch: {} }')],
    ['a manifest without metadata', step('create: { kind: Pod }')],
    ['a step that says nothing', step('component: {}')],
    ['a list where a mapping belongs', step('expect: [{ kind: Pod }]')],
    ['a word where a number belongs', step('checkpoint: { pod: a, container: b, status: ok }')],
    ['a wrong step inside another', step('repeat: { times: 2, steps: [{ slep: 1s }] }')],
    ['no branch', step('together: {}')],
    ['an unknown actor', step('request: { path: /, as: root }')],
  ])('refuses, as the engine does: %s', (_, text) => {
    expect(() => parseScenario(text, 'wrong.yaml')).toThrow()
    expect(validate(load(text))).toBe(false)
  })
})
