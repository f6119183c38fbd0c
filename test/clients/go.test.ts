/** Go on the programs of `skiff envtest`: the example operator's suite, and client-go over restarts of the API server. */
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { createPlace } from '../e2e/place.ts'
import { goTest, goTimeoutMs, requireGo } from '../support/go.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

const operator = join(import.meta.dirname, '../../examples/go-operator')
const clientGo = join(import.meta.dirname, 'fixtures/client-go')
const test = requireGo(operator)

async function assets(...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await place.run(['envtest', ...words])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout.trim()
}

/** What Ginkgo says of each suite: passed and skipped. */
function suites(output: string): string[] {
  return [...output.matchAll(/^(?:SUCCESS|FAIL)! -- (.*)$/gm)].map(([, counts = '']) => counts)
}

test(
  'the suite of a controller-runtime operator passes unchanged',
  async () => {
    const { code, output } = await goTest(operator, { KUBEBUILDER_ASSETS: await assets() })
    expect(suites(output), output).toEqual([
      '3 Passed | 0 Failed | 0 Pending | 1 Skipped',
      '3 Passed | 0 Failed | 0 Pending | 0 Skipped',
    ])
    expect(code, output).toBe(0)
  },
  goTimeoutMs,
)

test(
  'with controllers, its pods run and its namespaces go',
  async () => {
    const { code, output } = await goTest(operator, {
      KUBEBUILDER_ASSETS: await assets('--with-controllers'),
      TEST_CONTROLLERS: 'true',
    })
    expect(suites(output), output).toEqual([
      '4 Passed | 0 Failed | 0 Pending | 0 Skipped',
      '3 Passed | 0 Failed | 0 Pending | 0 Skipped',
    ])
    expect(code, output).toBe(0)
  },
  goTimeoutMs,
)

test(
  'client-go’s informers, leader election and dynamic client go on when the API server is restarted and killed',
  async () => {
    const { code, output } = await goTest(clientGo, { KUBEBUILDER_ASSETS: await assets() })
    expect([...output.matchAll(/^--- PASS: (\w+)/gm)].map(([, name]) => name).toSorted()).toEqual([
      'TestAnInformerMissesNothingOverRestarts',
      'TestOneLeaderAtMostOverRestarts',
      'TestTheDynamicClientAndItsWatchGoOnOverRestarts',
    ])
    expect(code, output).toBe(0)
  },
  goTimeoutMs,
)
