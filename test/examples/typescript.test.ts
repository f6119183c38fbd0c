/** The TypeScript examples: their suites pass with the built library, and leave nothing. */
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { builtOnce } from '../e2e/built.ts'
import { copyExample } from './example.ts'
import type { Ended } from './example.ts'

const modules = join(import.meta.dirname, '..', '..', 'node_modules')

beforeAll(builtOnce)

/** Runs Node.js in a copy of the example; nothing may be left of it. */
async function run(name: string, words: readonly string[]): Promise<Ended> {
  const example = copyExample(name, {
    packages: ['vitest', '@kubernetes', '@types'],
    within: 'my examples 示例',
    beside: name === 'typescript-node-test' ? ['typescript-vitest'] : [],
  })
  const ended = await example.run(process.execPath, words)
  expect(example.leftovers()).toEqual([])
  return ended
}

test('the suite in vitest is green', async () => {
  const words = [join(modules, 'vitest', 'vitest.mjs'), 'run']
  const { code, output } = await run('typescript-vitest', words)
  expect(code, output).toBe(0)
  expect(output).toMatch(/Tests {2}7 passed \(7\)/)
})

test('the suite in node:test is green', async () => {
  const words = ['--test', '--test-reporter=spec']
  const { code, output } = await run('typescript-node-test', words)
  expect(code, output).toBe(0)
  expect(output).toMatch(/pass 4\n.*fail 0/)
})

test.each(['typescript-vitest', 'typescript-node-test'])(
  '%s compiles in strict mode',
  async (name) => {
    const words = [join(modules, 'typescript', 'bin', 'tsc'), '-p', '.']
    expect(await run(name, words)).toEqual({ code: 0, output: '' })
  },
)
