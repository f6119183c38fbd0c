/**
 * Quotas under concurrent creates and deletes, on a real server with a quota controller that counts without pause from its own
 * caches: never is there more than a quota allows, and in the end it says what is there.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resourceQuotaController } from '../../../components/controller-manager/resource-quota/resource-quota.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { startControllers } from '../../support/live-controller.ts'

interface Counted {
  readonly path: string
  readonly name: string
  /** The newest object, by a number. */
  readonly body: (i: number) => object
}

const kinds: readonly Counted[] = [
  { path: 'configmaps', name: 'count/configmaps', body: () => ({}) },
  {
    path: 'pods',
    name: 'pods',
    body: () => ({ spec: { containers: [{ name: 'c', image: 'i' }] } }),
  },
  {
    path: 'services',
    name: 'services.nodeports',
    body: () => ({ spec: { type: 'NodePort', ports: [{ port: 80 }] } }),
  },
]

describe('many creates and deletes at once', () => {
  let server: TestApiServer
  let controller: AsyncDisposable
  beforeAll(async () => {
    server = await startApiServer({ flags: ['--disable-admission-plugins=ServiceAccount'] })
    controller = await startControllers(
      server,
      [resourceQuotaController],
      // Counts every quota anew ten times a second.
      { flags: ['--resource-quota-sync-period=100ms'] },
    )
  })
  afterAll(async () => {
    await controller[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
    expect(server.faults).toEqual([])
  })

  it.each(kinds)('of $path never exceed $name', async ({ path, name, body }) => {
    const most = 7
    const ns = await server.namespace()
    const at = `/api/v1/namespaces/${ns}`
    const quotas = `${at}/resourcequotas`
    await server.ok('POST', quotas, {
      body: { metadata: { name: 'q' }, spec: { hard: { [name]: String(most) } } },
    })
    const used = async (): Promise<string | undefined> =>
      (await server.ok('GET', `${quotas}/q`)).status.used?.[name] as string | undefined
    await eventually(async () => expect(await used()).toBe('0'))

    using objects = await closing(server.watch(`${at}/${path}?watch=1`))
    using statuses = await closing(server.watch(`${quotas}?watch=1`))
    const worker = async (worker: number): Promise<number> => {
      let made = 0
      for (let i = 0; i < 12; i += 1) {
        const object = { metadata: { name: `o-${worker}-${i}` }, ...body(i) }
        const reply = await server.request('POST', `${at}/${path}`, { body: object })
        if (reply.status !== 201) {
          expect([403, 409], reply.text).toContain(reply.status)
          continue
        }
        made += 1
        if ((worker + i) % 3 === 0) continue
        const gone = `${at}/${path}/o-${worker}-${i}?gracePeriodSeconds=0`
        await server.ok('DELETE', gone)
      }
      return made
    }
    const made = await Promise.all(Array.from({ length: 12 }, (_, i) => worker(i)))
    expect(made.reduce((sum, one) => sum + one, 0)).toBeGreaterThanOrEqual(most)

    const { items } = await server.ok('GET', `${at}/${path}`)
    await eventually(async () => expect(await used()).toBe(String(items.length)))
    expect(mostAtOnce(objects.events())).toBeLessThanOrEqual(most)
    for (const { object } of statuses.events()) {
      const { status } = object as { status?: { used?: Record<string, string> } }
      expect(Number(status?.used?.[name] ?? 0)).toBeLessThanOrEqual(most)
    }
  })
})

/** How many of the objects there were at most, by the events of a watch. */
function mostAtOnce(events: readonly { type: string; object: unknown }[]): number {
  const there = new Set<string>()
  let most = 0
  for (const { type, object } of events) {
    const { name } = (object as { metadata: { name: string } }).metadata
    if (type === 'DELETED') there.delete(name)
    else there.add(name)
    most = Math.max(most, there.size)
  }
  return most
}

async function closing(opening: ReturnType<TestApiServer['watch']>) {
  const watch = await opening
  return {
    events: () => watch.waiting as readonly { type: string; object: unknown }[],
    [Symbol.dispose]: () => watch.close(),
  }
}
