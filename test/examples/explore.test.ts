/** The example operators of `skiff explore`: each bug is found and found again from its plan; the correct one survives. */
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { builtOnce } from '../e2e/built.ts'
import { copyExample } from './example.ts'
import { expectFound, expectNothingFound, explore } from './explored.ts'

const modules = join(import.meta.dirname, '..', '..', 'node_modules')
const commandOf = (operator: string): string => `"${process.execPath}" operators/${operator}.ts`

beforeAll(builtOnce)

const copy = () => copyExample('explore', { packages: ['@kubernetes', '@types'] })
test.each([
  ['generated-name', ['--plans', 'kill'], 'was made twice'],
  ['finalizer-first', ['--plans', 'kill'], 'ConfigMap default/registry: data is'],
  ['gives-up', ['--plans', 'lost-answer'], 'status.phase is Failed, not nothing'],
  ['ignores-conflict', ['--plans', 'refuse'], 'Cache default/web: status'],
  ['one-by-one', ['--plans', 'unseen'], 'is missing'],
  ['cleans-up-at-start', ['--plans', 'stale'], 'ConfigMap default/web-0: data is nothing'],
  ['never-removes', ['--values', 'caches.example.com'], 'ConfigMap default/web-settings: data'],
])('the bug of %s is found, and found again from its plan', async (operator, more, finding) => {
  await expectFound(copy(), commandOf, { operator, more, finding })
})

test('nothing is found in the correct operator, by mixes of faults neither', async () => {
  await expectNothingFound(copy(), commandOf, ['--values', 'caches.example.com'])
  const mixes = ['--mixes', '4', '--seed', '7']
  const output = await expectNothingFound(copy(), commandOf, mixes)
  expect(output).toContain('mixes: 4 plans, seed 7')
  expect(output).toMatch(/✓ .*; .* \(\d+\/\d+, /)
})

test.each([
  [['--mixes', '4', '--values', 'caches.example.com'], '--mixes are of faults'],
  [['--mixes', '4', '--seed', '-1'], 'invalid seed -1: it must be from 0 to 4294967295'],
  [['--mixes', '-4'], '--mixes'],
])('%j: the error says what is wrong', async (more, message) => {
  const words = ['--controller', commandOf('correct'), '--story', 'story.yaml', ...more]
  const { code, output } = await explore(copy(), ...words)
  expect(code, output).toBe(2)
  expect(output).toContain(message)
})

test('the operators compile in strict mode', async () => {
  const compile = [join(modules, 'typescript', 'bin', 'tsc'), '-p', '.']
  expect(await copy().run(process.execPath, compile)).toEqual({ code: 0, output: '' })
})
