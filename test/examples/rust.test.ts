/** The Rust example: its suite in `cargo test` passes on a cluster of its own, and leaves nothing, whatever ends it. */
import { execFileSync } from 'node:child_process'
import { beforeAll, expect } from 'vitest'
import { builtOnce } from '../e2e/built.ts'
import { eventually } from '../support/eventually.ts'
import { requireParts } from '../support/require-parts.ts'
import { copyExample, goneWithinMs } from './example.ts'

const leastMinor = 89
const example = copyExample('rust-operator')

function hindrance(): string | undefined {
  const cargo = (...words: readonly string[]): string =>
    execFileSync('cargo', words, {
      cwd: copyExample('rust-operator').folder,
      encoding: 'utf8',
      stdio: 'pipe',
      timeout: 300_000,
    })
  try {
    const version = cargo('--version')
    const [, minor] = /^cargo 1\.(\d+)/.exec(version) ?? []
    if (Number(minor) < leastMinor) return `Rust 1.${leastMinor} is needed, there is ${version}`
  } catch {
    return 'there is no cargo in PATH'
  }
  try {
    cargo('fetch')
    return undefined
  } catch (error) {
    return `its crates cannot be fetched: ${(error as Error).message.split('\n')[1] ?? ''}`
  }
}

const test = requireParts('examples/rust-operator', hindrance)
beforeAll(builtOnce)

// A Rust program has no hook at its end: the cluster notices it by itself.
const nothingIsLeft = () => eventually(() => expect(example.leftovers()).toEqual([]), goneWithinMs)

test('the suite in cargo test is green, and leaves nothing', async () => {
  const { code, output } = await example.run('cargo', ['test', '--locked'])
  expect(code, output).toBe(0)
  expect(output).toMatch(/^test result: ok\. 7 passed; 0 failed;/m)
  await nothingIsLeft()
})

test('a cargo test that is killed leaves no process and no cluster', async () => {
  const cargo = example.start('cargo', ['test', '--locked'])
  await cargo.says(/node-1 .* Ready/)
  expect(example.leftovers()).not.toEqual([])
  cargo.process.kill('SIGKILL')
  await nothingIsLeft()
})
