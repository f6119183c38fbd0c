/** The example operators of `skiff explore`: each bug is found and found again from its plan; the correct one survives. */
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { builtOnce } from '../e2e/built.ts'
import { copyExample } from './example.ts'
import { expectFound, expectNothingFound } from './explored.ts'

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

test('nothing is found in the correct operator', async () => {
  for (const more of [[], ['--values', 'caches.example.com']])
    await expectNothingFound(copy(), commandOf, more)
})

test('the operators compile in strict mode', async () => {
  const compile = [join(modules, 'typescript', 'bin', 'tsc'), '-p', '.']
  expect(await copy().run(process.execPath, compile)).toEqual({ code: 0, output: '' })
})
