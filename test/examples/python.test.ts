/** The Python example: its suite in pytest passes on a cluster of its own, and leaves nothing, whatever ends it. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, expect } from 'vitest'
import { builtOnce } from '../e2e/built.ts'
import { eventually } from '../support/eventually.ts'
import { requireParts } from '../support/require-parts.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { copyExample, goneWithinMs } from './example.ts'
import type { Example } from './example.ts'

function hindrance(): string | undefined {
  const python = (...words: readonly string[]): string =>
    execFileSync('python3', words, { encoding: 'utf8', stdio: 'pipe', timeout: 300_000 })
  try {
    const script = 'import sys, ensurepip; print(sys.version_info >= (3, 11), sys.version)'
    const [isNew, version] = python('-c', script).split(' ')
    if (isNew !== 'True') return `Python 3.11 is needed, there is ${version}`
  } catch {
    return 'there is no python3 with ensurepip in PATH'
  }
  try {
    python('-m', 'pip', 'download', '--no-deps', '--dest', temporaryFolder('pip'), 'kopf~=1.45')
    return undefined
  } catch (error) {
    return `its packages cannot be fetched: ${(error as Error).message.split('\n')[1] ?? ''}`
  }
}

const test = requireParts('examples/python-operator', hindrance)

/** Types the commands of the example's README up to the one that runs the suite. */
async function install(): Promise<Example & { readonly pytest: string }> {
  const example = copyExample('python-operator')
  for (const [program, ...words] of [
    ['python3', '-m', 'venv', '.venv'],
    ['.venv/bin/pip', 'install', '--editable', '.[test]'],
  ] as const) {
    const { code, output } = await example.run(program, words)
    expect(code, output).toBe(0)
  }
  return { ...example, pytest: join(example.folder, '.venv', 'bin', 'pytest') }
}

let installation: ReturnType<typeof install> | undefined
const installed = () => (installation ??= install())
beforeAll(builtOnce)

test('the suite in pytest is green, and leaves nothing', async () => {
  const example = await installed()
  const { code, output } = await example.run(example.pytest, [])
  expect(code, output).toBe(0)
  expect(output).toMatch(/^=+ 7 passed in .* =+$/m)
  expect(example.leftovers()).toEqual([])
})

test('a pytest that is killed leaves no process and no cluster', async () => {
  const example = await installed()
  const pytest = example.start(example.pytest, ['--capture=no'])
  await pytest.says(/node-1 .* Ready/)
  expect(example.leftovers()).not.toEqual([])
  pytest.process.kill('SIGKILL')
  await pytest.ended
  await eventually(() => expect(example.leftovers()).toEqual([]), goneWithinMs)
})

test('a pytest that is killed while its cluster starts leaves neither', async () => {
  const example = await installed()
  const pytest = example.start(example.pytest, ['--capture=no'])
  await pytest.says(/api-server .* ready/)
  pytest.process.kill('SIGKILL')
  await pytest.ended
  await eventually(() => expect(example.leftovers()).toEqual([]), goneWithinMs)
})
