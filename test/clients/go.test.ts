/** client-go on the programs of `skiff envtest`, over restarts of the API server. */
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { createPlace } from '../e2e/place.ts'
import { envtestAssets, goTest, goTimeoutMs, requireGo } from '../support/go.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

const clientGo = join(import.meta.dirname, 'fixtures/client-go')
const test = requireGo(clientGo)

test(
  'client-go’s informers, leader election and dynamic client go on when the API server is restarted and killed',
  async () => {
    const { code, output } = await goTest(clientGo, {
      KUBEBUILDER_ASSETS: await envtestAssets(place),
    })
    expect([...output.matchAll(/^--- PASS: (\w+)/gm)].map(([, name]) => name).toSorted()).toEqual([
      'TestAnInformerMissesNothingOverRestarts',
      'TestOneLeaderAtMostOverRestarts',
      'TestTheDynamicClientAndItsWatchGoOnOverRestarts',
    ])
    expect(code, output).toBe(0)
  },
  goTimeoutMs,
)
