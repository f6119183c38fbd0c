/** The store on etcd, when etcd dies, is full, refuses, or loses answers. */
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { protobufMessage } from '../../components/component-base/grpc/protobuf-fields.ts'
import { framed } from '../../components/component-base/grpc/grpc-messages.ts'
import type { Store } from '../../components/store/store.ts'
import { callEtcd, openTestStore, requireEtcd, startEtcd, type TestEtcd } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { ownPort } from '../support/own-port.ts'
import { startTcpMiddle, type TcpMiddle } from '../support/tcp-middle.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createTestPki } from '../support/tls.ts'
import { bytes, collect, committed, line, put, remove, revisionOf, text, until } from './actions.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

async function etcd(...[flags, scheme]: Parameters<typeof startEtcd>): Promise<TestEtcd> {
  const started = await startEtcd(flags, scheme)
  ends.push(() => started.kill())
  return started
}

async function open(...[url, more]: Parameters<typeof openTestStore>): Promise<Store> {
  const store = await openTestStore(url, more)
  ends.push(() => store.close())
  return store
}

const portOf = (url: string): number => Number(new URL(url).port)

async function middle(url: string): Promise<TcpMiddle & { url: string }> {
  const made = await startTcpMiddle(portOf(url))
  ends.push(() => made.close())
  return Object.assign(made, { url: `http://127.0.0.1:${made.port}` })
}

/** Creates keys until told to stop; a key whose write fails is written again under another number. */
async function writeUntil(store: Store, name: string, isOver: () => boolean) {
  const acknowledged = new Map<string, number>()
  for (let at = 0; !isOver(); at += 1) {
    const key = `${name}/${at}`
    try {
      const result = await store.txn({ key, expectedRevision: 0, value: bytes(key) })
      acknowledged.set(key, committed(result))
    } catch (error) {
      expect(error).toMatchObject({ code: 'unavailable' })
    }
  }
  return acknowledged
}

requireEtcd()('a store on etcd', () => {
  it('loses nothing that it acknowledged when etcd is killed under writers, and its watches go on', async () => {
    const server = await etcd()
    const store = await open(server.url)
    const watch = collect(store, { prefix: '', fromRevision: await store.revision() })
    let isOver = false
    const writers = ['a', 'b', 'c', 'd'].map((name) => writeUntil(store, name, () => isOver))
    for (let kills = 0; kills < 3; kills += 1) {
      const before = watch.events.length
      await until(() => watch.events.length > before + 50)
      await server.kill()
      await server.restart()
    }
    const before = watch.events.length
    await until(() => watch.events.length > before + 50)
    isOver = true
    const acknowledged = (await Promise.all(writers)).flatMap((one) => [...one])
    const stored = new Map((await store.range({ prefix: '' })).kvs.map((kv) => [kv.key, kv]))
    for (const [key, revision] of acknowledged) expect(stored.get(key)?.modRevision).toBe(revision)
    await until(() => watch.events.length === stored.size)
    const seen = watch.events.map(revisionOf)
    expect(seen).toEqual([...stored.values()].map((kv) => kv.modRevision).toSorted((a, b) => a - b))
  })

  it('goes on over another endpoint when one is dead, cut or hangs', async () => {
    const server = await etcd()
    const [one, other] = [await middle(server.url), await middle(server.url)]
    const dead = `http://127.0.0.1:${ownPort()}`
    const endpoints = [dead, one.url, other.url]
    const store = await open('', { endpoints, requestTimeoutMs: 8000 })
    const watch = collect(store, { prefix: '', fromRevision: await store.revision() })
    // A put that fails on a busy machine is made again.
    const write = async (value: string) => await eventually(() => put(store, 'a', value))
    await write('1')
    await one.close()
    await write('2')
    await one.open()
    other.silence()
    const last = await write('3')
    await until(() => watch.events.some((event) => revisionOf(event) === last))
    const seen = watch.events.map(revisionOf)
    expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b))
    expect(text(await eventually(() => store.get('a')))).toBe('3')
  })

  it('rejects unavailable while no endpoint answers, and works again after', async () => {
    const server = await etcd()
    const store = await open(server.url, { requestTimeoutMs: 5000 })
    await (await open(server.url)).txn({ key: 'a', expectedRevision: 0, value: bytes('1') })
    await server.kill()
    const unavailable = { code: 'unavailable' }
    const reads = [store.get('a'), store.revision(), store.check()]
    // The write may have been sent before the loss of the connection was seen: it says another reason then.
    const write = store.txn({ key: 'a', expectedRevision: 0, value: bytes('2') })
    const refused = [
      expect(write).rejects.toMatchObject(unavailable),
      ...reads.map(async (read) => {
        const reason = 'etcd does not answer'
        await expect(read).rejects.toMatchObject({ ...unavailable, reason })
      }),
    ]
    await Promise.all(refused)
    await server.restart()
    expect(await eventually(async () => text(await store.get('a')))).toBe('1')
    await eventually(() => put(store, 'a', '2'))
  })

  it('finds out what became of a write whose answer was lost', async () => {
    const server = await etcd()
    const between = await middle(server.url)
    const store = await open(between.url)
    const direct = await open(server.url)
    const first = await put(store, 'a', '1')

    between.keepAnswers()
    const written = store.txn({ key: 'a', expectedRevision: first, value: bytes('2') })
    await eventually(async () => expect(text(await direct.get('a'))).toBe('2'))
    between.cut()
    expect(await written).toEqual({ ok: true, revision: first + 1 })

    between.keepRequests()
    const repeated = store.txn({ key: 'a', expectedRevision: first + 1, value: bytes('3') })
    await eventually(() => expect(between.keptBytes).toBeGreaterThan(0))
    between.cut()
    expect(await repeated).toEqual({ ok: true, revision: first + 2 })
  })

  it('knows a lost write that another has replaced since, and one that came too late', async () => {
    const server = await etcd()
    const between = await middle(server.url)
    const store = await open(between.url)
    const direct = await open(server.url)
    const first = await put(store, 'a', '1')

    between.keepAnswers()
    const replaced = store.txn({ key: 'a', expectedRevision: first, value: bytes('mine') })
    await eventually(async () => expect(text(await direct.get('a'))).toBe('mine'))
    await put(direct, 'a', 'other')
    between.cut()
    expect(await replaced).toEqual({ ok: true, revision: first + 1 })

    await eventually(async () => await store.get('a'))
    between.keepRequests()
    const late = store.txn({ key: 'a', expectedRevision: first + 2, value: bytes('late') })
    await eventually(() => expect(between.keptBytes).toBeGreaterThan(0))
    const winner = await put(direct, 'a', 'winner')
    between.cut()
    expect(await late).toMatchObject({ ok: false, current: { modRevision: winner } })
  })

  it('makes a key once though etcd comes late to a request whose connection was lost', async () => {
    const server = await etcd()
    const between = await middle(server.url)
    const store = await open(between.url)
    const direct = await open(server.url)
    const watch = collect(direct, { prefix: '', fromRevision: await direct.revision() })
    await put(store, 'before', '1')
    between.keepRequests()
    const created = store.txn({ key: 'a', expectedRevision: 0, value: bytes('1') })
    const failed = expect(created).rejects.toMatchObject({
      code: 'unavailable',
      message:
        'the connection to etcd was lost, and it is not known whether "a" was written: read it again',
    })
    await eventually(() => expect(between.keptBytes).toBeGreaterThan(0))
    between.cut()
    await failed
    between.passKept()
    await eventually(() => expect(watch.events.map(line)).toContain('put a=1'))
    await put(direct, 'after', '1')
    expect(watch.events.map(line)).toEqual(['put before=1', 'put a=1', 'put after=1'])
  })

  it('says so when it cannot know whether a key was deleted', async () => {
    const server = await etcd()
    const between = await middle(server.url)
    const store = await open(between.url)
    const direct = await open(server.url)
    const first = await put(store, 'a', '1')
    between.keepAnswers()
    const deleted = store.txn({ key: 'a', expectedRevision: first, value: null })
    const failed = expect(deleted).rejects.toMatchObject({
      code: 'unavailable',
      message:
        'the connection to etcd was lost, and it is not known whether "a" was deleted: read it again',
    })
    await eventually(async () => expect(await direct.get('a')).toBeUndefined())
    between.cut()
    await failed
  })

  it('rejects a watch with compacted when its history goes while etcd is out of reach', async () => {
    const server = await etcd()
    const between = await middle(server.url)
    const store = await open(between.url)
    const direct = await open(server.url)
    const watch = collect(store, { prefix: '', fromRevision: await store.revision() })
    await put(store, 'a', '1')
    await between.close()
    await put(direct, 'a', '2')
    await direct.compact(await put(direct, 'a', '3'))
    await between.open()
    await expect(watch.done).rejects.toMatchObject({ code: 'compacted' })
    expect(watch.events.map(line)).toEqual(['put a=1'])
    const next = collect(store, { prefix: '', fromRevision: await store.revision() })
    await put(store, 'a', '4')
    expect(next.events.map(line)).toEqual(['put a=4 was 3'])
  })

  it('compacts a long history in steps, and a history that another compacted', async () => {
    const server = await etcd()
    const store = await open(server.url)
    let last = 0
    for (let round = 0; round < 60; round += 1) {
      const write = (at: number) =>
        store.txn({ key: `${round}/${at}`, expectedRevision: 0, value: bytes('1') })
      await Promise.all(Array.from({ length: 100 }, (_, at) => write(at)))
      last = await store.revision()
      if (round === 30) await (await open(server.url)).compact(last)
    }
    await store.compact(last)
    await expect(store.range({ prefix: '', atRevision: last - 1 })).rejects.toMatchObject({
      code: 'compacted',
    })
    expect((await store.range({ prefix: '', atRevision: last })).kvs).toHaveLength(6000)
  })

  it('refuses values with no-space when etcd is full, and deletes still', async () => {
    const server = await etcd(['--quota-backend-bytes=6000000'])
    const store = await open(server.url)
    expect(await store.check()).toBeUndefined()
    const value = Buffer.alloc(1_000_000, 'x')
    const fill = async (): Promise<never> => {
      for (let at = 0; ; at += 1) await store.txn({ key: `k${at}`, expectedRevision: 0, value })
    }
    const full = { code: 'no-space', reason: 'etcd is out of space' }
    await expect(fill()).rejects.toMatchObject(full)
    expect(await store.check()).toMatchObject(full)
    expect(text(await store.get('k0'))).toBe(value.toString())
    await remove(store, 'k0')
    await expect(put(store, 'k0', '1')).rejects.toMatchObject(full)
  })

  it('reports an etcd that has found itself corrupt as damaged', async () => {
    const server = await etcd()
    const store = await open(server.url)
    await put(store, 'a', '1')
    await callEtcd(server.url, 'Maintenance/Alarm', [1, 1], [3, 2])
    await expect(store.check()).rejects.toMatchObject({ code: 'damaged' })
    await expect(put(store, 'a', '2')).rejects.toMatchObject({ code: 'damaged' })
  })

  it('shares etcd with other clients: their revisions hold up nothing', async () => {
    const server = await etcd()
    const store = await open(server.url)
    const other = await open(server.url, { prefix: 'test2' })
    const watch = collect(store, { prefix: '', fromRevision: await store.revision() })
    const own = await put(store, 'a', '1')
    const later = await put(other, 'a', 'theirs')
    expect(later).toBe(own + 1)
    expect([await store.revision(), await other.revision()]).toEqual([own, later])
    expect(watch.events.map(line)).toEqual(['put a=1'])
    expect((await store.range({ prefix: '' })).kvs.map(text)).toEqual(['1'])
  })

  it('reads large values and many keys in pages of one revision', async () => {
    const server = await etcd()
    const store = await open(server.url)
    const value = Buffer.alloc(200_000, 'x')
    const write = (at: number) => store.txn({ key: `l${at}`, expectedRevision: 0, value })
    await Promise.all(Array.from({ length: 300 }, (_, at) => write(at)))
    const reading = store.range({ prefix: 'l' })
    const { kvs, revision, more } = await reading
    expect([kvs.length, more]).toEqual([300, false])
    expect(kvs.every((kv) => kv.modRevision <= revision && kv.value.equals(value))).toBe(true)
    expect((await store.range({ prefix: 'l', limit: 280 })).more).toBe(true)
  })

  const kvOf = (at: number) => {
    return { key: `k${at}`, value: bytes('1'), createRevision: at, modRevision: at }
  }
  const some = Array.from({ length: 2000 }, (_, at) => kvOf(at + 1))

  it('is filled in an etcd that is past the revisions, and keeps its numbers when it is opened again', async () => {
    const server = await etcd()
    const other = await open(server.url, { prefix: 'other' })
    for (let at = 0; at < 20; at += 1)
      await other.txn({ key: `o${at}`, expectedRevision: 0, value: bytes('1') })
    const far = 5_000_000_000
    const store = await open(server.url)
    await store.load([kvOf(3)], 5)
    expect(await store.revision()).toBeGreaterThan(21)
    const shifted = await open(server.url, { prefix: 'shifted' })
    await shifted.load([kvOf(3)], far)
    const revision = await shifted.revision()
    expect(revision).toBeGreaterThan(far)
    const [kv] = (await shifted.range({ prefix: '' })).kvs
    await shifted.close()
    const again = await open(server.url, { prefix: 'shifted' })
    expect(await again.range({ prefix: '' })).toEqual({ kvs: [kv], revision, more: false })
    await expect(
      again.watch({ prefix: '', fromRevision: 40, signal: AbortSignal.timeout(60_000) }, () => {}),
    ).rejects.toMatchObject({ code: 'compacted' })
    // The numbers of a store whose keys are deleted are not handed out again.
    await again.txn({ key: 'k3', expectedRevision: kv?.modRevision ?? 0, value: null })
    await again.load([kvOf(3)], 5)
    expect((await again.get('k3'))?.modRevision).toBeGreaterThan(revision + 1)
  })

  it('opens no half-filled one', async () => {
    const server = await etcd()
    const store = await open(server.url)
    const filling = store.load(some, 90_000)
    filling.catch(() => {}) // seen below
    await eventually(async () => {
      await expect(openTestStore(server.url)).rejects.toMatchObject({
        code: 'cannot-open',
        message: expect.stringContaining('only in part'),
      })
    })
    await server.kill()
    await expect(filling).rejects.toMatchObject({ code: 'unavailable' })
    await server.restart()
    await expect(openTestStore(server.url)).rejects.toMatchObject({
      message: expect.stringContaining('only in part'),
    })
  })

  describe('opened with identities', () => {
    const pki = createTestPki()
    const tls = { ca: pki.caPem, ...pki.client('skiff') }

    async function secure(): Promise<string> {
      const folder = temporaryFolder('etcd-pki')
      const file = (name: string, content: string): string => {
        writeFileSync(join(folder, name), content)
        chmodSync(join(folder, name), 0o600)
        return join(folder, name)
      }
      const flags = [
        `--cert-file=${file('server.crt', pki.server.cert)}`,
        `--key-file=${file('server.key', pki.server.key)}`,
        `--trusted-ca-file=${file('ca.crt', pki.caPem)}`,
        '--client-cert-auth',
      ]
      return (await etcd(flags, 'https')).url
    }

    it('needs the right authority and client certificate, and says for which endpoint', async () => {
      const url = await secure()
      const store = await open(url, { tls: () => tls })
      await put(store, 'a', '1')
      for (const wrong of [{ ...tls, ca: createTestPki().caPem }, { ca: pki.caPem }, {}]) {
        const failed = await openTestStore(url, { tls: () => wrong }).catch(
          (error: unknown) => error,
        )
        expect(failed).toMatchObject({ code: 'cannot-open' })
        expect((failed as Error).message).toMatch(`${url} does not take part in TLS: `)
        expect((failed as Error).message).toMatch(/check the certificate authority/)
      }
    })

    it('needs the right user and password; a user may be limited to the prefix', async () => {
      const { url, restart } = await etcd()
      await callEtcd(url, 'Auth/RoleAdd', [1, 'root'])
      await callEtcd(url, 'Auth/UserAdd', [1, 'root'], [2, 'secret'])
      await callEtcd(url, 'Auth/UserGrantRole', [1, 'root'], [2, 'root'])
      await limitedUser(url, 'skiff', '/test/')
      await callEtcd(url, 'Auth/AuthEnable')
      const refused = { code: 'cannot-open' }
      await expect(openTestStore(url)).rejects.toMatchObject(refused)
      const wrong = { user: { name: 'skiff', password: 'guess' } }
      await expect(openTestStore(url, wrong)).rejects.toMatchObject({
        ...refused,
        message: expect.stringContaining('check the name and the password'),
      })
      const store = await open(url, { user: { name: 'skiff', password: 'skiff' } })
      const watch = collect(store, { prefix: '', fromRevision: await store.revision() })
      await put(store, 'a', '1')
      expect(watch.events.map(line)).toEqual(['put a=1'])
      // etcd forgets its tokens.
      await restart()
      await put(store, 'a', '2')
      expect(watch.events.map(line)).toEqual(['put a=1', 'put a=2 was 1'])
      // Commits that the user may not see do not hold up its reads.
      const root = { user: { name: 'root', password: 'secret' }, prefix: 'other' }
      const newest = await store.revision()
      await put(await open(url, root), 'b', '1')
      expect(await store.revision()).toBe(newest)
      await put(store, 'a', '3')
      expect(watch.events.map(line).at(-1)).toBe('put a=3 was 2')
      const elsewhere = { user: { name: 'skiff', password: 'skiff' }, prefix: 'elsewhere' }
      await expect(openTestStore(url, elsewhere)).rejects.toMatchObject(refused)
    })

    it('takes the user from the client certificate, where etcd authenticates users', async () => {
      const url = await secure()
      const root = { url, tls: { ca: pki.caPem, ...pki.client('root') } }
      await callEtcd(root, 'Auth/RoleAdd', [1, 'root'])
      await callEtcd(root, 'Auth/UserAdd', [1, 'root'], [2, 'secret'])
      await callEtcd(root, 'Auth/UserGrantRole', [1, 'root'], [2, 'root'])
      await limitedUser(root, 'skiff', '/test/')
      await callEtcd(root, 'Auth/AuthEnable')
      await put(await open(url, { tls: () => tls }), 'a', '1')
      const stranger = { tls: () => ({ ca: pki.caPem, ...pki.client('stranger') }) }
      await expect(openTestStore(url, stranger)).rejects.toMatchObject({ code: 'cannot-open' })
    })

    /** A server that is no etcd that can be used. */
    async function answering(answer: (stream: http2.ServerHttp2Stream) => void): Promise<string> {
      const server = http2.createServer()
      server.on('stream', answer)
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      ends.push(() => new Promise((resolve) => server.close(resolve)))
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    }

    async function limitedUser(
      url: Parameters<typeof callEtcd>[0],
      name: string,
      prefix: string,
    ): Promise<void> {
      await callEtcd(url, 'Auth/RoleAdd', [1, name])
      const end = `${prefix.slice(0, -1)}0`
      const permission = protobufMessage([1, 2], [2, prefix], [3, end])
      await callEtcd(url, 'Auth/RoleGrantPermission', [1, name], [2, permission])
      await callEtcd(url, 'Auth/UserAdd', [1, name], [2, name])
      await callEtcd(url, 'Auth/UserGrantRole', [1, name], [2, name])
    }

    it('cannot be opened where nothing listens in time, and at once where it is no etcd', async () => {
      const url = `http://127.0.0.1:${ownPort()}`
      await expect(openTestStore(url, { openTimeoutMs: 300 })).rejects.toMatchObject({
        code: 'cannot-open',
        message: expect.stringContaining('ECONNREFUSED'),
      })
      const other = await answering((stream) => {
        stream.respond({ ':status': 404 }, { endStream: true })
      })
      await expect(openTestStore(other)).rejects.toMatchObject({
        code: 'cannot-open',
        message: expect.stringContaining(`${other} is no etcd that can be used`),
      })
      const old = await answering((stream) => {
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc' },
          { waitForTrailers: true },
        )
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
        stream.end(framed(protobufMessage([2, '3.3.27'], [4, 7])))
      })
      await expect(openTestStore(old)).rejects.toMatchObject({
        code: 'cannot-open',
        message: expect.stringContaining(`etcd at ${old} has version 3.3.27: use 3.4 or newer`),
      })
      for (const wrong of ['127.0.0.1:2379', 'ftp://a:1', 'http://a:1/path']) {
        await expect(openTestStore(wrong)).rejects.toMatchObject({
          code: 'cannot-open',
          message: `"${wrong}" is not an address of etcd: write http://HOST:PORT or https://HOST:PORT`,
        })
      }
      await expect(openTestStore('', { endpoints: [] })).rejects.toMatchObject({
        code: 'cannot-open',
      })
    })
  })
})
