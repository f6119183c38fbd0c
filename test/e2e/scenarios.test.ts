/** The scenarios that ship, each on a cluster of its own. */
import { readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../components/component-base/clock.ts'
import { runScenarios } from '../../scenarios/engine/runner.ts'
import { readScenario } from '../../scenarios/engine/scenario.ts'
import { ownPort } from '../support/own-port.ts'
import { startTurn } from '../support/start-turn.ts'
import { testOn } from '../support/test-on.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { refusedComponents } from './refused-components.ts'

const folder = join(import.meta.dirname, '..', '..', 'scenarios')
const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'))
/** Windows has no SIGSTOP. */
const pauses = (file: string): boolean =>
  readFileSync(join(folder, file), 'utf8').includes('pause:')
const testPaused = testOn('unix', 'scenarios that pause a component')

test('there are scenarios to run', () => {
  expect(files.length).toBeGreaterThanOrEqual(7)
})

async function expectGreen(file: string): Promise<void> {
  const stateRoot = temporaryFolder('s')
  onTestFinished(() => rm(stateRoot, { recursive: true, force: true }))
  const refused = new Set<string>()
  const endTurn = await startTurn()
  onTestFinished(endTurn)
  const [result] = await runScenarios([readScenario(join(folder, file))], {
    clock: systemClock,
    signal: new AbortController().signal,
    stateRoot,
    port: ownPort(),
    keep: false,
    onStep: () => {
      endTurn()
      for (const refusal of refusedComponents(stateRoot)) refused.add(refusal)
    },
  })
  const failed = result?.steps.find((step) => step.outcome === 'failed')
  const why = [...(result?.failure ?? []), failed?.title ?? '', ...(failed?.failure ?? [])]
  expect(result?.outcome, why.join('\n')).toBe('passed')
  expect([...refused], 'components were refused requests').toEqual([])
}

test.each(files.filter((file) => !pauses(file)))('%s is green', expectGreen)
testPaused.each(files.filter(pauses))('%s is green', expectGreen)
