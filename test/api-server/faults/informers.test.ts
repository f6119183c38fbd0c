/** Informers under faults: whatever happens to their lists and watches, once the faults are gone they have the server's state. */
import { KubeConfig, makeInformer, type V1ConfigMap, CoreV1Api } from '@kubernetes/client-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { createClient } from '../../../components/client/client.ts'
import { createInformer } from '../../../components/client/informer.ts'
import type { RequestFault } from '../../../components/component-base/request-fault.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { startApiServer, type Identity, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'

const { configMaps } = resourcesOf(dialects.kubernetes)
const informed: Identity = { user: 'informer', groups: ['system:masters'] }
let server: TestApiServer

beforeAll(async () => {
  server = await startApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  expect(server.faults).toEqual([])
})

/** An informer that runs: what it has in its cache, by name. */
interface Running extends AsyncDisposable {
  state(): Record<string, string>
}
type Start = (namespace: string) => Promise<Running>

const stateOf = (objects: readonly { metadata?: { name?: string }; data?: unknown }[]) =>
  Object.fromEntries(
    objects
      .map(({ metadata, data }) => [metadata?.name ?? '', JSON.stringify(data ?? {})] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )

const startOurs: Start = async (namespace) => {
  const shown = server.credential(informed)
  const client = createClient({
    server: `https://127.0.0.1:${server.port}`,
    ca: server.pki.authority.certificatePem,
    credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
    dialect: dialects.kubernetes,
    userAgent: 'ours',
  })
  const informer = createInformer({
    client: client.resource(configMaps),
    selection: { namespace },
    clock: systemClock,
    log: silentLog,
  })
  const stop = new AbortController()
  const running = informer.run(stop.signal)
  await informer.ready
  return {
    state: () => stateOf(informer.list() as never),
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error('stopped'))
      await running.catch(() => {})
      client.close()
    },
  }
}

const startTheirs: Start = async (namespace) => {
  const shown = server.credential(informed)
  const data = (text = ''): string => Buffer.from(text).toString('base64')
  const config = new KubeConfig()
  config.loadFromOptions({
    clusters: [
      {
        name: 'c',
        server: `https://127.0.0.1:${server.port}`,
        caData: data(server.pki.authority.certificatePem),
      },
    ],
    users: [
      {
        name: 'u',
        certData: data(shown?.certificatePem),
        keyData: data(shown?.privateKeyPem),
      },
    ],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
  })
  const api = config.makeApiClient(CoreV1Api)
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const informer = makeInformer<V1ConfigMap>(config, path, () =>
    api.listNamespacedConfigMap({ namespace }),
  )
  let isStopped = false
  const start = async (): Promise<void> => {
    if (isStopped) return
    await informer.start().catch(() => undefined)
  }
  // As its documentation says: an error ends it, and its user starts it again.
  informer.on('error', () => void setTimeout(() => void start(), 5))
  await informer.start()
  return {
    state: () => stateOf(informer.list()),
    [Symbol.asyncDispose]: async () => {
      isStopped = true
      await informer.stop()
    },
  }
}

const match = { users: ['informer'], resources: ['configmaps'] }
const fault = (action: RequestFault['action'], more: Partial<RequestFault> = {}): RequestFault => ({
  id: 'fault',
  match,
  action,
  ...more,
})

/** Creates, changes and deletes, as the administrator. */
async function change(at: string, round: number): Promise<void> {
  for (let index = 0; index < 6; index += 1) {
    const name = `object-${index}`
    const body = { metadata: { name }, data: { round: String(round) } }
    const there = await server.request('GET', `${at}/${name}`)
    if (there.status === 404) await server.ok('POST', at, { body })
    else if ((index + round) % 3 === 0) await server.ok('DELETE', `${at}/${name}`)
    else await server.ok('PUT', `${at}/${name}`, { body })
  }
}

const cases: [string, RequestFault][] = [
  ['events are lost', fault({ watch: { events: 'drop' } })],
  ['one event in two is lost', fault({ watch: { events: 'drop' } }, { chance: 0.5, seed: 1 })],
  ['watches end with 410', fault({ watch: { events: 'expire' } }, { times: 3 })],
  ['watches end', fault({ watch: { events: 'end' } }, { times: 3 })],
  ['events come twice', fault({ watch: { events: 'repeat' } })],
  ['events come late', fault({ watch: { delayMs: 20 } })],
  ['lists are stale', fault({ staleMs: 100 })],
  ['answers are cut in their middle', fault({ cut: 'during' }, { times: 2 })],
  ['requests are refused', fault({ status: { code: 503, retryAfterSeconds: 0 } }, { times: 2 })],
  ['lists get a 410', fault({ status: { code: 410 } }, { times: 1 })],
  ['answers are slow', fault({ bytesPerSecond: 20_000 })],
]

describe.each([
  ['ours', startOurs],
  ['that of @kubernetes/client-node', startTheirs],
] as const)('an informer, %s, has the server’s state in the end when', (_, start) => {
  it.each(cases)('%s', async (_title, injected) => {
    await server.command('faults', {})
    const namespace = await server.namespace()
    const at = `/api/v1/namespaces/${namespace}/configmaps`
    await change(at, 0)
    await using informer = await start(namespace)
    await change(at, 1)
    await server.command('faults', { requests: [injected] })
    // A watch that ends here begins anew under the fault.
    const again = { id: 'again', match, action: { watch: { events: 'expire' } }, times: 1 }
    if (injected.action.watch === undefined)
      await server.command('faults', { requests: [injected, again] })
    for (let round = 2; round < 6; round += 1) await change(at, round)
    await eventually(async () => {
      const counts = (await server.command('fault-counts')) as Record<string, number>
      expect(counts['fault']).toBeGreaterThan(0)
    })
    await server.command('faults', {})
    const wanted = stateOf((await server.ok('GET', at)).items)
    await eventually(() => expect(informer.state()).toEqual(wanted))
    await change(at, 6)
    const last = stateOf((await server.ok('GET', at)).items)
    await eventually(() => expect(informer.state()).toEqual(last))
  })
})
