/** The TypeScript examples: their suites pass with the built library, and leave nothing. */
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { builtOnce } from '../e2e/built.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const root = join(import.meta.dirname, '..', '..')
const modules = join(root, 'node_modules')

beforeAll(builtOnce)

/** The examples as `npm install` leaves them, in a folder with a blank: a folder above has what their package.json names. */
function installed(): string {
  const place = temporaryFolder('my examples 示例')
  const folder = join(place, 'node_modules')
  mkdirSync(folder)
  symlinkSync(root, join(folder, 'kube-skiff'))
  for (const name of ['vitest', '@kubernetes', '@types'])
    symlinkSync(join(modules, name), join(folder, name))
  for (const name of ['typescript-vitest', 'typescript-node-test'])
    cpSync(join(root, 'examples', name), join(place, name), { recursive: true })
  return place
}

function run(
  words: readonly string[],
  cwd: string,
): Promise<{ code: number | null; output: string }> {
  const tmp = temporaryFolder('example-tmp')
  const env = { PATH: process.env['PATH'], HOME: tmp, TMPDIR: tmp, NO_COLOR: '1' }
  const child = spawn(process.execPath, words, { cwd, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  return new Promise((resolve) => {
    child.once('close', (code) => resolve({ code, output }))
  })
}

test('the suite in vitest is green', async () => {
  const folder = join(installed(), 'typescript-vitest')
  const { code, output } = await run([join(modules, 'vitest', 'vitest.mjs'), 'run'], folder)
  expect(code, output).toBe(0)
  expect(output).toMatch(/Tests {2}7 passed \(7\)/)
})

test('the suite in node:test is green', async () => {
  const folder = join(installed(), 'typescript-node-test')
  const { code, output } = await run(['--test', '--test-reporter=spec'], folder)
  expect(code, output).toBe(0)
  expect(output).toMatch(/pass 4\n.*fail 0/)
})

test.each(['typescript-vitest', 'typescript-node-test'])(
  '%s compiles in strict mode',
  async (name) => {
    const folder = join(installed(), name)
    const compiler = join(modules, 'typescript', 'bin', 'tsc')
    expect(await run([compiler, '-p', '.'], folder)).toEqual({ code: 0, output: '' })
  },
)

test('every example has a README', () => {
  for (const name of readdirSync(join(root, 'examples')))
    expect(readdirSync(join(root, 'examples', name))).toContain('README.md')
})
