/** Measures the embedded store: durable puts, latency, loop stalls, opening and listing. Usage: bench-store.ts [directory] */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { openSqliteStore } from '../components/store/sqlite-store.ts'
import type { Store } from '../components/store/store.ts'

const putBytes = 3000
const objectBytes = 3700
const objects = 100_000

const directory = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'bench-store-'))
let files = 0
const open = async (path = join(directory, `${++files}.db`)): Promise<Store> =>
  openSqliteStore({ path })
const value = (size: number): Buffer => Buffer.alloc(size, 'a')

/** Runs with the longest time in ms that the event loop stood still. */
async function withStall<T>(work: () => Promise<T>): Promise<{ result: T; stallMs: number }> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const result = await work()
  delay.disable()
  return { result, stallMs: Math.round(delay.max / 1e5) / 10 }
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

async function benchPuts(options: {
  writers: number
  puts: number
  isUpdate: boolean
}): Promise<void> {
  const { writers, puts, isUpdate } = options
  const store = await open()
  const controller = new AbortController()
  const watch = store.watch({ prefix: '', fromRevision: 0, signal: controller.signal }, () => {
    // A live watcher makes the store build events, as an API server does.
  })
  const latencies: number[] = []
  const write = async (writer: number): Promise<void> => {
    let expectedRevision = 0
    for (let i = 0; i < puts / writers; i++) {
      const start = performance.now()
      const key = `/registry/pods/default/pod-${writer}-${isUpdate ? 0 : i}`
      const result = await store.txn({ key, expectedRevision, value: value(putBytes) })
      if (!result.ok) throw new Error('lost')
      if (isUpdate) expectedRevision = result.revision
      latencies.push(performance.now() - start)
    }
  }
  const { result: took, stallMs } = await withStall(async () =>
    seconds(async () => Promise.all(Array.from({ length: writers }, async (_, w) => write(w)))),
  )
  latencies.sort((a, b) => a - b)
  const at = (quantile: number): string =>
    (latencies[Math.floor(latencies.length * quantile)] ?? 0).toFixed(2)
  console.log(
    `${isUpdate ? 'update' : 'create'} ${writers} writers: ${Math.round(puts / took)}/s, ` +
      `ms p50 ${at(0.5)} p99 ${at(0.99)} max ${at(0.99999)}, loop stall ${stallMs} ms`,
  )
  controller.abort()
  await watch
  await store.close()
}

async function benchOpen(): Promise<void> {
  const path = join(directory, 'big.db')
  const filled = await open(path)
  const names = Array.from({ length: objects }, (_, i) => `/registry/pods/ns-${i % 100}/pod-${i}`)
  for (let i = 0; i < objects; i += 1000)
    await Promise.all(
      names
        .slice(i, i + 1000)
        .map(async (key) => filled.txn({ key, expectedRevision: 0, value: value(objectBytes) })),
    )
  await filled.close()
  const opened = await withStall(async () => {
    const start = performance.now()
    const store = await open(path)
    return { store, ms: performance.now() - start }
  })
  const { store, ms } = opened.result
  console.log(`open ${objects} objects: ${Math.round(ms)} ms, loop stall ${opened.stallMs} ms`)
  const listed = await withStall(async () =>
    seconds(async () => store.range({ prefix: '/registry/pods/' })),
  )
  console.log(
    `range of all: ${Math.round(listed.result * 1000)} ms, loop stall ${listed.stallMs} ms`,
  )
  const got = await seconds(async () => {
    for (const key of names.slice(0, 5000)) await store.get(key)
  })
  console.log(`get: ${((got / 5000) * 1e6).toFixed(0)} us`)
  await benchCompaction(store, names)
  await store.close()
}

async function benchCompaction(store: Store, names: readonly string[]): Promise<void> {
  const update = async (key: string): Promise<void> => {
    const expectedRevision = (await store.get(key))?.modRevision ?? 0
    await store.txn({ key, expectedRevision, value: value(objectBytes) })
  }
  for (let i = 0; i < names.length; i += 1000)
    await Promise.all(names.slice(i, i + 1000).map(update))
  const latencies: number[] = []
  let isDone = false
  const writing = (async () => {
    while (!isDone) {
      const start = performance.now()
      await update(names[latencies.length % names.length] ?? '')
      latencies.push(performance.now() - start)
    }
  })()
  const revision = await store.revision()
  const { result, stallMs } = await withStall(async () =>
    seconds(async () => store.compact(revision)),
  )
  isDone = true
  await writing
  latencies.sort((a, b) => a - b)
  console.log(
    `compact ${names.length} replaced revisions: ${result.toFixed(1)} s, get + put meanwhile ms ` +
      `p50 ${latencies[latencies.length >> 1]?.toFixed(1)} max ${latencies.at(-1)?.toFixed(1)}, loop stall ${stallMs} ms`,
  )
}

try {
  for (const isUpdate of [false, true]) {
    await benchPuts({ writers: 1, puts: 4000, isUpdate })
    for (const writers of [64, 256]) await benchPuts({ writers, puts: 80_000, isUpdate })
  }
  await benchOpen()
} finally {
  rmSync(directory, { recursive: true })
}
