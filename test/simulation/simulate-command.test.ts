/** `skiff simulate`: what it says of a seed that fails, and to wrong use; and a controller that is stopped between its writes. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../cluster/cli/command.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { simulateCommand } from '../../library/simulate-command.ts'
import { planStops } from '../../simulation/controller-stops.ts'
import { builtOnce } from '../e2e/built.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const file = fileURLToPath(new URL('stopped.simulation.ts', import.meta.url))

async function run(words: readonly string[], environment: Record<string, string> = {}) {
  const told = { out: '', err: '' }
  const terminal = {
    out: (text: string) => void (told.out += text),
    err: (text: string) => void (told.err += text),
    isInteractive: false,
    outColors: false,
    errColors: false,
    columns: 80,
  }
  const context = {
    terminal,
    clock: systemClock,
    stateRoot: '',
    environment,
    program: 'skiff' as const,
    signal: new AbortController().signal,
  }
  return { code: await runCommand(simulateCommand, words, context), ...told }
}

describe('skiff simulate', { timeout: 600_000 }, () => {
  it('finds a controller that loses work when it is stopped, needs one stop for it, and says how to replay it', async () => {
    const { code, out, err } = await run([file, '--seed', '1', '-o', 'json'])
    expect(code).toBe(1)
    expect(err).toMatch(/✗ seed 1: \d+ faults?, \d+ writes/)
    const { failed } = JSON.parse(out) as {
      failed: { kind: string; again: string; run: { faults: string[] } }
    }
    expect(failed.kind).toBe('check')
    expect(failed.run.faults).toEqual([expect.stringMatching(/controller 1 is stopped after/)])
    expect(failed.again).toBe(`skiff simulate ${file} --seed 1`)
    const again = await run([file, '--seed', '1', '-o', 'json'])
    expect(JSON.parse(again.out)).toEqual(JSON.parse(out))
  })

  it.each([
    [['nowhere.ts'], {}, 'there is no file nowhere.ts'],
    [[file, '--seed', 'x'], {}, '--seed must be a whole number, not "x"'],
    [[file, '--seed', '1', '--seeds', '2'], {}, '--seed and --seeds cannot be combined'],
    [[file, '--seed', '1'], { SIMULATION_SEED: '2' }, 'cannot be combined with SIMULATION_SEED'],
  ])('rejects wrong use: %j', async (words, environment, message) => {
    await expect(run(words, environment)).rejects.toThrow(message)
  })

  it('loads TypeScript with tsx, where that is installed', async () => {
    await builtOnce()
    // Where Skiff is installed, tsx is beside it.
    const typescript = join(temporaryFolder('simulate-tsx'), 'enum.simulation.ts')
    writeFileSync(
      typescript,
      `enum Name { app = 'app' }
export default {
  for: 0,
  seeds: 1,
  story: async ({ client }) => {
    await client.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: Name.app } })
  },
}
`,
    )
    const program = fileURLToPath(new URL('../../bin/skiff.js', import.meta.url))
    const out = execFileSync(process.execPath, [program, 'simulate', typescript], {
      stdio: 'pipe',
      encoding: 'utf8',
    })
    expect(out).toBe('1 seed passed\n')
  })

  it('rejects a module without options, and one whose options are invalid', async () => {
    const folder = temporaryFolder('simulate-command')
    const [none, wrong] = [join(folder, 'none.mjs'), join(folder, 'wrong.mjs')]
    writeFileSync(none, 'export const story = 1\n')
    writeFileSync(wrong, 'export default { story: 1 }\n')
    await expect(run([none])).rejects.toThrow('has no default export')
    await expect(run([wrong])).rejects.toThrow('simulate: story must be a function')
  })
})

describe('stops of controllers', () => {
  const given = { seed: 5, controllers: 2, forMs: 600_000, everyMs: 30_000 }

  it('follow from the seed, concern every controller, and none comes after the end', () => {
    const stops = planStops(given)
    expect(planStops(given)).toEqual(stops)
    expect(planStops({ ...given, seed: 6 })).not.toEqual(stops)
    expect(new Set(stops.map(({ controller }) => controller))).toEqual(new Set([1, 2]))
    expect(new Set(stops.map(({ when }) => when)).size).toBe(3)
    expect(stops.every(({ atMs }) => atMs < given.forMs)).toBe(true)
    expect(planStops({ ...given, everyMs: 0 })).toEqual([])
  })
})
