/** What the embedded store promises when a process is killed, a disk is full or a file is not what it should be. */
import { spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { openSqliteStore } from '../../components/store/sqlite-store.ts'
import type { Store } from '../../components/store/store.ts'
import { bytes, collect, committed, put, remove, revisionOf, text, until } from './actions.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { expectMode } from '../support/file-mode.ts'

const directory = temporaryFolder('sqlite-failures')
let files = 0
const newPath = (): string => join(directory, `${++files}.db`)

interface Acknowledged {
  readonly revision: number
  readonly key: string
  readonly text: string | null
}

interface Child {
  readonly pid: number
  /** Resolves with everything it has acknowledged when it has been killed after `count` acknowledgements. */
  killAfter(count: number): Promise<Acknowledged[]>
}

/** Resolves when the child has opened the store. */
async function startWriter(path: string): Promise<Child> {
  const program = fileURLToPath(new URL('./fixtures/write-until-killed.ts', import.meta.url))
  const child = spawn(process.execPath, [program, path], { stdio: ['ignore', 'pipe', 'pipe'] })
  let complaints = ''
  child.stderr.on('data', (data: Buffer) => (complaints += data.toString()))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const first = await lines.next()
  if (first.done === true) throw new Error(`the child has not opened the store: ${complaints}`)
  return {
    pid: child.pid ?? 0,
    killAfter: async (count) => {
      const acknowledged: Acknowledged[] = []
      for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
        // The last line may be cut off.
        if (next.value.endsWith('}')) acknowledged.push(JSON.parse(next.value) as Acknowledged)
        if (acknowledged.length === count) child.kill('SIGKILL')
      }
      return acknowledged
    },
  }
}

describe('a killed process', () => {
  it('[RES-004] loses nothing that it acknowledged, five times in a row', async () => {
    const path = newPath()
    const acknowledged = new Map<number, string>()
    for (let round = 1; round <= 5; round++) {
      const child = await startWriter(path)
      for (const { revision, key, text } of await child.killAfter(300 * round))
        acknowledged.set(revision, `${key} ${text}`)
      const store = await openSqliteStore({ path })
      const newest = await store.revision()
      const { events } = collect(store, { prefix: '', fromRevision: 0 })
      await until(() => events.length === newest)
      const stored = new Map(
        events.map((event) => [
          revisionOf(event),
          event.type === 'put'
            ? `${event.kv.key} ${event.kv.value.toString()}`
            : `${event.key} null`,
        ]),
      )
      for (const [revision, what] of acknowledged) expect(stored.get(revision)).toBe(what)
      await store.close()
    }
    expect(acknowledged.size).toBeGreaterThanOrEqual(300 + 600 + 900 + 1200 + 1500)
  })

  it('keeps the file to itself while it lives, and frees it by dying', async () => {
    const path = newPath()
    const child = await startWriter(path)
    const owner = process.platform === 'linux' ? ` (pid ${child.pid})` : ''
    await expect(openSqliteStore({ path })).rejects.toMatchObject({
      code: 'cannot-open',
      message: `${path} is in use by another process${owner}`,
    })
    await child.killAfter(10)
    const store = await openSqliteStore({ path })
    expect(await store.revision()).toBeGreaterThanOrEqual(10)
    await store.close()
  })
})

describe('a writer that died', () => {
  it('ends every watch and fails what is asked of it, and the store can be closed', async () => {
    const { promise: started, resolve } = Promise.withResolvers<Worker>()
    process.once('worker', resolve)
    const store = await openSqliteStore({ path: newPath() })
    await put(store, 'a', '1')
    const { signal } = new AbortController()
    const watching = store.watch({ prefix: '', fromRevision: 1, signal }, () => {})
    const ended = expect(watching).rejects.toMatchObject({ code: 'unavailable' })
    await (await started).terminate()
    await ended
    await expect(put(store, 'a', '2')).rejects.toMatchObject({ code: 'unavailable' })
    await store.close()
  })
})

describe('opening', () => {
  async function filled(objects = 2000): Promise<string> {
    const path = newPath()
    const store = await openSqliteStore({ path })
    await Promise.all(
      Array.from({ length: objects }, (_, i) => put(store, `k${i}`, 'v'.repeat(500))),
    )
    await store.close()
    return path
  }
  const opening = (path: string) =>
    expect(openSqliteStore({ path }).then(async (store) => store.close()))

  it('makes a file that only its owner can read, and takes others their rights', async () => {
    const path = await filled(1)
    expectMode(path, 0o600)
    const copy = newPath()
    copyFileSync(path, copy)
    const store = await openSqliteStore({ path: copy })
    await put(store, 'a', '1')
    for (const file of [copy, `${copy}-wal`]) expectMode(file, 0o600)
    await store.close()
  })

  it('refuses a second store in the same process, and the first works on', async () => {
    const path = newPath()
    const store = await openSqliteStore({ path })
    await opening(path).rejects.toMatchObject({ code: 'cannot-open', message: /already open/ })
    await put(store, 'a', '1')
    const child = await startWriter(path).catch((error: unknown) => error)
    expect(child).toMatchObject({
      message: expect.stringContaining(`is in use by another process`) as string,
    })
    expect(text(await store.get('a'))).toBe('1')
    await store.close()
  })

  it('refuses a file that is no store', async () => {
    const path = newPath()
    writeFileSync(path, 'kind: Pod\n'.repeat(1000))
    await opening(path).rejects.toMatchObject({
      code: 'cannot-open',
      message: `${path} is damaged or not a store: file is not a database`,
    })
    expect(readFileSync(path, 'utf8')).toBe('kind: Pod\n'.repeat(1000))
  })

  it('refuses a file of another program and does not touch it', async () => {
    const path = newPath()
    const db = new DatabaseSync(path)
    db.exec('CREATE TABLE bookmarks (url)')
    db.close()
    const before = readFileSync(path)
    await opening(path).rejects.toMatchObject({
      code: 'cannot-open',
      message: `${path} is an SQLite file of another program`,
    })
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('refuses a newer schema', async () => {
    const path = await filled(1)
    const db = new DatabaseSync(path)
    db.exec('PRAGMA user_version = 3')
    db.close()
    await opening(path).rejects.toMatchObject({
      code: 'cannot-open',
      message: `${path} was written by a newer release: its schema is 3, this release knows 2`,
    })
  })

  it('refuses a file that is cut short, overwritten in the middle, or has lost a commit', async () => {
    const original = await filled()
    const damages: ((path: string) => void)[] = [
      (path) => truncateSync(path, statSync(path).size / 2),
      (path) => {
        const content = readFileSync(path)
        content.fill(0xa5, content.length / 2, content.length / 2 + 40_000)
        writeFileSync(path, content)
      },
      (path) => {
        const db = new DatabaseSync(path)
        db.exec('DELETE FROM log WHERE revision = 1000')
        db.close()
      },
    ]
    for (const damage of damages) {
      const path = newPath()
      copyFileSync(original, path)
      damage(path)
      await opening(path).rejects.toMatchObject({
        code: 'cannot-open',
        message: expect.stringMatching(/ is damaged/) as string,
      })
    }
  })

  it('refuses a folder that does not exist', async () => {
    const path = join(directory, 'none', 'x.db')
    await opening(path).rejects.toMatchObject({
      code: 'cannot-open',
      message: expect.stringContaining(`${path} cannot be opened: ENOENT`) as string,
    })
  })
})

describe('a full store', () => {
  const value = (): Buffer => Buffer.alloc(30_000, 'x')
  const noSpace = { status: 'rejected', reason: { code: 'no-space' } }

  /** Creates keys until the store has no room for more; answers them, and the newest revision. */
  async function fill(store: Store): Promise<{ keys: string[]; newest: number }> {
    const keys: string[] = []
    for (;;) {
      const key = `big${keys.length}`
      try {
        committed(await store.txn({ key, expectedRevision: 0, value: value() }))
        keys.push(key)
      } catch (error) {
        expect(error).toMatchObject({ code: 'no-space', message: /full/ })
        return { keys, newest: await store.revision() }
      }
    }
  }

  it('refuses values, reads on, commits deletions, and takes values again when these have made room', async () => {
    const path = newPath()
    const store = await openSqliteStore({ path, quotaBytes: 2_000_000 })
    await put(store, 'a', '1')
    const watch = collect(store, { prefix: '', fromRevision: 0 })
    const { keys, newest } = await fill(store)
    // The reason is for clients: it names no file.
    const refusal = await store.check()
    expect(refusal).toMatchObject({ code: 'no-space', reason: 'database or disk is full' })
    expect(refusal?.message).toBe(`cannot write ${path}: database or disk is full`)
    expect(text(await store.get('a'))).toBe('1')
    expect((await store.range({ prefix: '' })).kvs).toHaveLength(keys.length + 1)

    const attempts = await Promise.allSettled(
      Array.from({ length: 40 }, async (_, i) =>
        store.txn({ key: `new${i}`, expectedRevision: 0, value: value() }),
      ),
    )
    expect(attempts).toEqual(attempts.map(() => expect.objectContaining({ status: 'rejected' })))
    expect(await store.revision()).toBe(newest)

    for (const key of keys) await remove(store, key)
    await eventually(async () => expect(await store.check()).toBeUndefined())
    await store.txn({ key: 'new1', expectedRevision: 0, value: value() })
    const commits = newest + keys.length + 1
    expect(watch.events.map(revisionOf)).toEqual(Array.from({ length: commits }, (_, i) => i + 1))
    await store.close()
    expect(statSync(path).size).toBeLessThanOrEqual(2_000_000 * (1 + 1 / 16) + 16_384)

    const reopened = await openSqliteStore({ path })
    expect((await reopened.range({ prefix: '' })).kvs.map(({ key }) => key)).toEqual(['a', 'new1'])
    await reopened.close()
  })

  it('drops history before it refuses for long: a key that is replaced again and again fits', async () => {
    const store = await openSqliteStore({ path: newPath(), quotaBytes: 1_000_000 })
    let expectedRevision = 0
    let refusals = 0
    for (let round = 0; round < 200; round += 1) {
      const txn = { key: 'busy', expectedRevision, value: value() }
      const result = await store.txn(txn).catch(() => undefined)
      if (result === undefined) refusals += 1
      else expectedRevision = committed(result)
    }
    expect(refusals).toBeGreaterThan(0)
    expect(refusals).toBeLessThan(50)
    await store.close()
  })

  it('commits a deletion that was decided beside a value for which there is no room', async () => {
    const store = await openSqliteStore({ path: newPath(), quotaBytes: 500_000 })
    const { keys } = await fill(store)
    const removals = await Promise.all(keys.map(async (key) => ({ key, kv: await store.get(key) })))
    const results = await Promise.allSettled([
      store.txn({ key: 'new', expectedRevision: 0, value: Buffer.alloc(600_000) }),
      ...removals.map(async ({ key, kv }) =>
        store.txn({ key, expectedRevision: kv?.modRevision ?? 0, value: null }),
      ),
    ])
    expect(results[0]).toMatchObject(noSpace)
    for (const result of results.slice(1))
      expect(result).toMatchObject({ status: 'fulfilled', value: { ok: true } })
    expect((await store.range({ prefix: '' })).kvs).toEqual([])
    await store.close()
  })

  it('fails whatever was decided on a commit that failed', async () => {
    const store = await openSqliteStore({ path: newPath(), quotaBytes: 500_000 })
    const newest = await put(store, 'z', '1')
    const [first, dependent, lost, other] = await Promise.allSettled([
      store.txn({ key: 'a', expectedRevision: 0, value: Buffer.alloc(600_000) }),
      store.txn({ key: 'a', expectedRevision: newest + 1, value: bytes('2') }),
      store.txn({ key: 'a', expectedRevision: 0, value: bytes('3') }),
      store.txn({ key: 'b', expectedRevision: 7, value: bytes('4') }),
    ])
    expect([first, dependent, lost]).toMatchObject([noSpace, noSpace, noSpace])
    expect(other).toEqual({ status: 'fulfilled', value: { ok: false } })
    expect(await store.get('a')).toBeUndefined()
    expect(await put(store, 'a', '1')).toBe(newest + 1)
    expect(await store.get('a')).toMatchObject({ createRevision: newest + 1 })
    await store.close()
  })

  it('fails what is behind a commit that failed, although the thread already has it', async () => {
    const store = await openSqliteStore({ path: newPath(), quotaBytes: 500_000 })
    const { keys, newest } = await fill(store)
    const turn = async (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))
    const results = []
    for (let round = 0; round < 20; round++) {
      results.push(
        store.txn({ key: 'a', expectedRevision: 0, value: Buffer.alloc(600_000) }),
        turn().then(async () => store.txn({ key: 'a', expectedRevision: 0, value: bytes('lost') })),
        turn().then(async () =>
          store.txn({ key: `b${round}`, expectedRevision: 0, value: value() }),
        ),
      )
      await Promise.race(results.slice(-3)).catch(() => {
        // Judged below, with the others.
      })
    }
    for (const result of await Promise.allSettled(results)) expect(result).toMatchObject(noSpace)
    for (const key of keys) await remove(store, key)
    await eventually(async () => expect(await store.check()).toBeUndefined())
    expect(await put(store, 'a', '1')).toBe(newest + keys.length + 1)
    await store.close()
  })
})

describe('a store whose files are damaged while it runs', () => {
  /** More than SQLite keeps in memory of a file. */
  async function filled(): Promise<{ path: string; store: Store }> {
    const path = newPath()
    const store = await openSqliteStore({ path })
    const value = Buffer.alloc(500_000, 'x')
    for (let i = 0; i < 20; i += 1) await store.txn({ key: `k${i}`, expectedRevision: 0, value })
    return { path, store }
  }

  /** What happens to it, and what is said of it. */
  const damages: [string, (path: string) => void, RegExp][] = [
    ['is removed', (path) => rmSync(path), /was removed/],
    [
      'is replaced',
      (path) => (copyFileSync(path, `${path}2`), renameSync(`${path}2`, path)),
      /was replaced/,
    ],
    ['loses its log', (path) => rmSync(`${path}-wal`), /-wal was removed/],
    ['is cut off', (path) => truncateSync(path, statSync(path).size / 2), /was cut off/],
    ['is overwritten from the start', (path) => overwrite(path, 0, 4096), /was overwritten/],
    [
      'has a log that is overwritten',
      (path) => overwrite(`${path}-wal`, 0, 4096),
      /-wal was overwritten/,
    ],
  ]

  /** In place, as a program would that does not know of SQLite's locks. */
  function overwrite(path: string, from: number, bytes: number): void {
    const script =
      'const fs = require("node:fs"), [path, from, bytes] = process.argv.slice(1);' +
      'fs.writeSync(fs.openSync(path, "r+"), Buffer.alloc(+bytes), 0, +bytes, +from)'
    const child = spawnSync(process.execPath, ['-e', script, path, String(from), String(bytes)])
    if (child.status !== 0) throw new Error(child.stderr.toString())
  }

  it.each(damages)(
    '%s: acknowledges nothing more, and its check says so',
    async (_, damage, message) => {
      const { path, store } = await filled()
      expect(await store.check()).toBeUndefined()
      damage(path)
      await expect(put(store, 'late', '1')).rejects.toMatchObject({ code: 'damaged', message })
      await expect(store.check()).rejects.toMatchObject({ code: 'damaged', message })
      await expect(remove(store, 'k1')).rejects.toMatchObject({ code: 'damaged' })
      expect((await store.get('k19'))?.modRevision).toBe(20)
      await store.close()
    },
  )

  it('checks find damage anywhere in what is stored', async () => {
    const { path, store } = await filled()
    for (let i = 0; i < 20; i += 1) expect(await store.check()).toBeUndefined()
    const pages = statSync(path).size / 4096
    overwrite(path, 4096 * 40, 4096 * (pages - 60))
    const checks = async (): Promise<void> => {
      for (let i = 0; i < 40; i += 1) await store.check()
    }
    await expect(checks()).rejects.toMatchObject({ code: 'damaged', message: /malformed/ })
    await expect(put(store, 'late', '1')).rejects.toMatchObject({ code: 'damaged' })
    await store.close()
  })
})
