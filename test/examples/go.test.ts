/** The Go example: its envtest suite passes unchanged on the programs of `skiff envtest`. */
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { createPlace } from '../e2e/place.ts'
import { envtestAssets, goTest, requireGo } from '../support/go.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

const operator = join(import.meta.dirname, '../../examples/go-operator')
const test = requireGo(operator)

/** What Ginkgo says of each suite: passed and skipped. */
function suites(output: string): string[] {
  return [...output.matchAll(/^(?:SUCCESS|FAIL)! -- (.*)$/gm)].map(([, counts = '']) => counts)
}

test('the suite of a controller-runtime operator passes unchanged', async () => {
  const { code, output } = await goTest(operator, {
    KUBEBUILDER_ASSETS: await envtestAssets(place),
  })
  expect(suites(output), output).toEqual([
    '3 Passed | 0 Failed | 0 Pending | 1 Skipped',
    '3 Passed | 0 Failed | 0 Pending | 0 Skipped',
  ])
  expect(code, output).toBe(0)
})

test('with controllers, its pods run and its namespaces go', async () => {
  const { code, output } = await goTest(operator, {
    KUBEBUILDER_ASSETS: await envtestAssets(place, '--with-controllers'),
    TEST_CONTROLLERS: 'true',
  })
  expect(suites(output), output).toEqual([
    '4 Passed | 0 Failed | 0 Pending | 0 Skipped',
    '3 Passed | 0 Failed | 0 Pending | 0 Skipped',
  ])
  expect(code, output).toBe(0)
})
