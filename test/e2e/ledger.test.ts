/** What the ledger takes for a contradiction, and what it must not: writes without an answer, on a fake server that commits them late. */
import { expect, test } from 'vitest'
import { resourcesOf } from '../../components/api/resources.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { FakeCluster } from '../support/fake-client.ts'
import { createLedger, namespace } from './ledger.ts'

const key = `${namespace}/w-1`

function setUp() {
  const fake = new FakeCluster(new FakeClock())
  const { configMaps } = resourcesOf(fake.dialect)
  const ledger = createLedger()
  return {
    fake,
    configMaps,
    ledger,
    items: () => fake.all(configMaps),
    /** Has one writer create or update each of its five names, once. */
    round: async (): Promise<void> => {
      const stop = new AbortController()
      const end = fake.react('*', 'configmaps', (call) => {
        if (call.key === `${namespace}/w-4`) stop.abort()
      })
      await ledger.write(fake.client(), 'w', stop.signal)
      end()
    },
    /** The next such write to w-1 gets no answer; the server commits it when the result is called. */
    holdBack: (verb: 'create' | 'update'): (() => void) => {
      let sent: KubeObject | undefined
      const end = fake.react(verb, 'configmaps', (call) => {
        if (call.key !== key) return
        end()
        sent = call.object as KubeObject | undefined
        throw new ConnectionError('timeout', 'no answer in time')
      })
      return () => {
        if (verb === 'create') fake.seed(configMaps, sent as KubeObject)
        else
          fake.change(configMaps, key, (object) => {
            object['data'] = sent?.['data']
          })
      }
    },
  }
}

test('a create that the living server commits after its writer has given up and looked is no contradiction', async () => {
  const { fake, ledger, round, holdBack, items } = setUp()
  const commit = holdBack('create')
  await round()
  ledger.serverDied()
  // The writer leaves the name alone: the server may commit the create before or after this.
  await round()
  expect(fake.writes.filter((write) => write.endsWith(key))).toHaveLength(1)
  expect(ledger.contradictions(items())).toEqual([])
  commit()
  expect(ledger.contradictions(items())).toEqual([])
  await round()
  expect(fake.writes.filter((write) => write.endsWith(key))).toEqual([
    `create configmaps ${key}`,
    `update configmaps ${key}`,
  ])
  expect(ledger.contradictions(items())).toEqual([])
  expect(ledger.counts.unknown).toBe(1)
})

test('once its server is dead, a write that did not take effect must not do so any more', async () => {
  const { ledger, round, holdBack, items } = setUp()
  await round()
  const commit = holdBack('update')
  await round()
  ledger.serverDied()
  ledger.serverDied()
  await round()
  expect(ledger.contradictions(items())).toEqual([])
  commit()
  expect(ledger.contradictions(items())).toEqual([expect.stringMatching(/^w-1: is .+ was /)])
})

test('a state that neither an acknowledged write made nor one without an answer is a contradiction', async () => {
  const { fake, configMaps, ledger, round, holdBack, items } = setUp()
  const commit = holdBack('create')
  await round()
  commit()
  const change = (object: KubeObject): void => {
    object['data'] = { value: 'of another' }
  }
  for (const name of ['w-1', 'w-2']) fake.change(configMaps, `${namespace}/${name}`, change)
  fake.remove(configMaps, `${namespace}/w-3`)
  const wrong = ledger.contradictions(items()).map((text) => text.split(':')[0])
  expect(wrong.toSorted()).toEqual(['w-1', 'w-2', 'w-3'])
  await expect(round()).rejects.toThrow('w-1: found of another')
})
