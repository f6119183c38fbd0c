/** Explored: an example operator with a bug, found by `skiff explore`, found again from its plan, and not found in the correct one. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Example } from './example.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'skiff.js')

/** How to run an operator of the example: a command, as `--controller` takes it. */
type CommandOf = (operator: string) => string

export async function explore(example: Example, ...words: readonly string[]) {
  return await example.run(process.execPath, [program, 'explore', ...words])
}

export async function expectFound(
  example: Example,
  commandOf: CommandOf,
  { operator, more, finding }: { operator: string; more: readonly string[]; finding: string },
): Promise<void> {
  const controller = ['--controller', commandOf(operator)]
  const folder = `findings-${operator}`
  const files = ['--story', 'story.yaml', '--findings', folder]
  const found = await explore(example, ...files, ...controller, '--first', ...more)
  expect(found.code, found.output).toBe(1)
  expect(found.output).toContain(finding)
  const [name = ''] = readdirSync(join(example.folder, folder)).filter((one) =>
    one.endsWith('.yaml'),
  )
  const plan = join(folder, name)
  const [replayed, mended] = await Promise.all([
    explore(example, 'replay', plan, ...controller),
    explore(example, 'replay', plan, '--controller', commandOf('correct')),
  ])
  expect(replayed.code, replayed.output).toBe(1)
  expect(mended.code, mended.output).toBe(0)
  // What kept the controller ends just after the command.
  await expect.poll(() => example.leftovers(), { timeout: 5000 }).toEqual([])
}

/** Resolves with what was printed. */
export async function expectNothingFound(
  example: Example,
  commandOf: CommandOf,
  more: readonly string[] = [],
): Promise<string> {
  const controller = ['--controller', commandOf('correct')]
  const { code, output } = await explore(example, '--story', 'story.yaml', ...controller, ...more)
  expect(code, output).toBe(0)
  // What kept the controller ends just after the command.
  await expect.poll(() => example.leftovers(), { timeout: 5000 }).toEqual([])
  return output
}
