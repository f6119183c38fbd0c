/** Three API servers on one etcd are as right as one. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requireEtcd, startEtcd, type TestEtcd } from '../../support/etcd.ts'
import { startApiServer, user, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'

const merge = { 'content-type': 'application/merge-patch+json' }

requireEtcd()('on one etcd', () => {
  let etcd: TestEtcd
  const servers: TestApiServer[] = []
  let namespaces = 0
  const start = (...flags: string[]) =>
    startApiServer({
      without: ['store'],
      flags: [`--etcd-servers=${etcd.url}`, ...flags],
    })
  const serverOf = (at: number): TestApiServer => servers[at % servers.length] as TestApiServer

  beforeAll(async () => {
    etcd = await startEtcd()
    servers.push(...(await Promise.all([start(), start(), start()])))
  })
  afterAll(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]()
    await etcd.kill()
  })

  async function emptyNamespace(): Promise<string> {
    namespaces += 1
    return await serverOf(namespaces).namespace(`peers-${namespaces}`)
  }
  const mapsIn = (namespace: string, name = ''): string =>
    `/api/v1/namespaces/${namespace}/configmaps${name && `/${name}`}`

  test('each server reads at once what another has acknowledged', async () => {
    const namespace = await emptyNamespace()
    await Promise.all(
      Array.from({ length: 30 }, async (_, at) => {
        const name = `map-${at}`
        await serverOf(at).ok('POST', mapsIn(namespace), { body: { metadata: { name } } })
        const read = await serverOf(at + 1).request('GET', mapsIn(namespace, name))
        expect(read.status).toBe(200)
        const body = { data: { by: String(at) } }
        await serverOf(at + 1).ok('PATCH', mapsIn(namespace, name), { body, headers: merge })
        const list = await serverOf(at + 2).ok('GET', mapsIn(namespace))
        const found = list.items.find(
          (one: { metadata: { name: string } }) => one.metadata.name === name,
        )
        expect(found.data).toEqual({ by: String(at) })
        await serverOf(at + 2).ok('DELETE', mapsIn(namespace, name))
        expect((await serverOf(at).request('GET', mapsIn(namespace, name))).status).toBe(404)
      }),
    )
  })

  test('of updates that race each counts once', async () => {
    const namespace = await emptyNamespace()
    const path = mapsIn(namespace, 'counter')
    const body = { metadata: { name: 'counter' }, data: { count: '0' } }
    await serverOf(0).ok('POST', mapsIn(namespace), { body })
    const increment = async (at: number): Promise<void> => {
      for (;;) {
        const current = await serverOf(at).ok('GET', path)
        const count = String(Number(current.data.count) + 1)
        const reply = await serverOf(at + 1).request('PUT', path, {
          body: { ...current, data: { count } },
        })
        if (reply.status === 200) return
        expect(reply.status).toBe(409)
      }
    }
    await Promise.all(Array.from({ length: 12 }, (_, at) => increment(at)))
    expect((await serverOf(2).ok('GET', path)).data.count).toBe('12')
  })

  test('patches that race are all made', async () => {
    const namespace = await emptyNamespace()
    const path = mapsIn(namespace, 'patched')
    await serverOf(0).ok('POST', mapsIn(namespace), { body: { metadata: { name: 'patched' } } })
    await Promise.all(
      Array.from({ length: 30 }, (_, at) =>
        serverOf(at).ok('PATCH', path, { body: { data: { [`k${at}`]: '' } }, headers: merge }),
      ),
    )
    expect(Object.keys((await serverOf(1).ok('GET', path)).data)).toHaveLength(30)
  })

  test('a quota is never exceeded, and used up', async () => {
    const namespace = await emptyNamespace()
    const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`
    const hard = { 'count/configmaps': '10' }
    const quota = await serverOf(0).ok('POST', quotas, {
      body: { metadata: { name: 'ten' }, spec: { hard } },
    })
    await serverOf(1).ok('PUT', `${quotas}/ten/status`, {
      body: { ...quota, status: { hard, used: { 'count/configmaps': '0' } } },
    })
    // Every server is to know that there is a quota: one that does not admits, as upstream's.
    await Promise.all(servers.map((server) => server.ok('GET', `${quotas}/ten`)))
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        serverOf(at).request('POST', mapsIn(namespace), {
          body: { metadata: { name: `map-${at}` } },
        }),
      ),
    )
    const made = replies.filter(({ status }) => status === 201).length
    const { items } = await serverOf(2).ok('GET', mapsIn(namespace))
    expect(items).toHaveLength(made)
    expect(made).toBeLessThanOrEqual(10)
    for (let at = made; at < 10; at += 1) {
      // A reservation that lost every race is refused, and can be tried again.
      await serverOf(at).ok('POST', mapsIn(namespace), {
        body: { metadata: { name: `later-${at}` } },
      })
    }
    const more = await serverOf(0).request('POST', mapsIn(namespace), {
      body: { metadata: { name: 'more' } },
    })
    expect(more.status).toBe(403)
  })

  test('a watch on one server shows every write of the others, in order and once', async () => {
    const namespace = await emptyNamespace()
    const { metadata } = await serverOf(1).ok('GET', mapsIn(namespace))
    const watch = await serverOf(1).watch(
      `${mapsIn(namespace)}?watch=1&resourceVersion=${metadata.resourceVersion}`,
    )
    const names = Array.from({ length: 60 }, (_, at) => `map-${at}`)
    await Promise.all(
      names.map((name, at) =>
        serverOf(at).ok('POST', mapsIn(namespace), { body: { metadata: { name } } }),
      ),
    )
    const events = await watch.take(names.length)
    watch.close()
    expect(events.map(({ object }) => object.metadata.name).toSorted()).toEqual(names.toSorted())
    const revisions = events.map(({ object }) => Number(object.metadata.resourceVersion))
    expect(revisions).toEqual(revisions.toSorted((a, b) => a - b))
  })

  test('rights that are given and taken on one server hold on the others', async () => {
    const namespace = await emptyNamespace()
    const as = user('peer')
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`
    const statusAt = async (at: number): Promise<number> =>
      (await serverOf(at).request('GET', mapsIn(namespace), { as })).status
    expect(await statusAt(1)).toBe(403)
    await serverOf(0).ok('POST', rbac, {
      body: {
        metadata: { name: 'may-view' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'peer' }],
      },
    })
    await eventually(async () => expect(await statusAt(1)).toBe(200))
    await serverOf(2).ok('DELETE', `${rbac}/may-view`)
    await eventually(async () => expect(await statusAt(1)).toBe(403))
  })

  test('while servers are replaced one by one, no request fails of clients that connect to a ready one', async () => {
    const namespace = await emptyNamespace()
    const delay = '--shutdown-delay-duration=1s'
    const old = [...servers]
    const ready = new Set(old)
    const failures: string[] = []
    let isOver = false
    let written = 0
    const work = async (worker: number): Promise<void> => {
      for (let at = 0; !isOver; at += 1) {
        const [server] = [...ready].slice((worker + at) % ready.size)
        if (server === undefined) throw new Error('no server is ready')
        const name = `map-${worker}-${at}`
        const reply = await server.request('POST', mapsIn(namespace), {
          body: { metadata: { name } },
        })
        if (reply.status === 201) written += 1
        else failures.push(`${reply.status} ${reply.text}`)
      }
    }
    const working = Promise.all([0, 1, 2, 3].map(work))
    try {
      for (const server of old) {
        const fresh = await start(delay)
        servers.push(fresh)
        ready.add(fresh)
        // The balancer sees that it is no longer ready; what is on its way to it is still answered.
        ready.delete(server)
        await server.terminate()
        servers.splice(servers.indexOf(server), 1)
        await server[Symbol.asyncDispose]()
      }
    } finally {
      isOver = true
      await working
    }
    expect(failures).toEqual([])
    expect((await serverOf(0).ok('GET', mapsIn(namespace))).items).toHaveLength(written)
  })

  test('no server has logged a fault', () => {
    expect(servers.flatMap(({ faults }) => faults)).toEqual([])
  })
})
