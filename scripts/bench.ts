/** `npm run bench`: the API server beside a bare HTTP/2 server that moves the same bytes, in the same run. Ratios are what counts. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { dialects } from '../components/api/dialect.ts'
import { createPki } from '../certs/pki.ts'
import { writePki } from '../certs/pki-files.ts'
import { exchange, load, openSession, type Endpoint, type LoadResult } from './bench/load.ts'
import { podManifest } from './bench/pod.ts'
import { serve, usage, type Served } from './bench/process.ts'
import { measureUp } from './bench/up.ts'

const root = join(import.meta.dirname, '..')
const durationMs = Number(process.env['BENCH_SECONDS'] ?? '4') * 1000
const listed = 10_000
const pods = '/api/v1/namespaces/default/pods'

interface Row {
  readonly name: string
  readonly skiff: string
  readonly bare: string
  readonly ratio: string
  readonly note: string
}

const rows: Row[] = []

function rate(name: string, ours: LoadResult, bare: LoadResult): void {
  rows.push({
    name,
    skiff: `${Math.round(ours.perSecond)}/s`,
    bare: `${Math.round(bare.perSecond)}/s`,
    ratio: `${Math.round((ours.perSecond / bare.perSecond) * 100)} %`,
    note: `p50 ${ours.p50Ms.toFixed(1)} ms, p99 ${ours.p99Ms.toFixed(1)} ms`,
  })
}

function time(name: string, oursMs: number, bareMs: number, note = ''): void {
  rows.push({
    name,
    skiff: `${Math.round(oursMs)} ms`,
    bare: `${Math.round(bareMs)} ms`,
    ratio: `${Math.round((bareMs / oursMs) * 100)} %`,
    note,
  })
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

async function timed(work: () => Promise<unknown>, times = 5): Promise<number> {
  const taken: number[] = []
  for (let at = 0; at < times; at += 1) {
    const startedAt = performance.now()
    await work()
    taken.push(performance.now() - startedAt)
  }
  return median(taken)
}

/** One event to many watchers: the time from the write's start until the last has it. */
async function fanOut(
  endpoint: Endpoint,
  options: { watchers: number; path: string; fire: () => Promise<unknown> },
): Promise<number> {
  const sessions = Array.from({ length: 10 }, () => openSession(endpoint))
  let arrived = 0
  let wake = (): void => {}
  const streams = Array.from({ length: options.watchers }, (_, at) => {
    const stream = sessions[at % sessions.length]!.request({ ':path': options.path })
    stream.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) arrived += 1
      if (arrived >= options.watchers) wake()
    })
    return stream
  })
  await Promise.all(
    streams.map((stream) => new Promise((resolve) => stream.once('response', resolve))),
  )
  const taken: number[] = []
  for (let round = 0; round < 9; round += 1) {
    arrived = 0
    const all = new Promise<void>((resolve) => (wake = resolve))
    const startedAt = performance.now()
    await options.fire()
    await all
    taken.push(performance.now() - startedAt)
  }
  for (const session of sessions) session.destroy()
  return median(taken)
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'skiff-bench-'))
  const running: Served[] = []
  try {
    const pki = createPki({
      nowMs: Date.now(),
      apiServer: { serviceName: dialects.kubernetes.apiServerService },
    })
    await writePki(folder, pki)
    const file = (name: string): string => join(folder, name)
    const credentials = {
      ca: readFileSync(file('ca.crt')),
      cert: readFileSync(file('admin.crt')),
      key: readFileSync(file('admin.key')),
    }
    const server = await serve(join(root, 'dist/api-server.js'), [
      '--secure-port=0',
      `--store=sqlite:${file('store.db')}`,
      `--tls-cert-file=${file('apiserver.crt')}`,
      `--tls-private-key-file=${file('apiserver.key')}`,
      `--client-ca-file=${file('ca.crt')}`,
      `--service-account-key-file=${file('sa.pub')}`,
      `--service-account-signing-key-file=${file('sa.key')}`,
      '--authorization-mode=Node,RBAC',
      '--disable-admission-plugins=ServiceAccount',
    ])
    running.push(server)
    const ours: Endpoint = { origin: `https://127.0.0.1:${server.port}`, ...credentials }
    const idleMb = usage(server.child.pid!).residentMb

    const session = openSession(ours)
    const create = await exchange(session, {
      method: 'POST',
      path: pods,
      body: Buffer.from(JSON.stringify(podManifest('one'))),
    })
    if (create.status !== 201) throw new Error(`create answered ${create.status}`)
    const chunks: Buffer[] = []
    await new Promise<void>((resolve) => {
      const stream = session.request({ ':path': `${pods}/one` })
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => resolve())
      stream.end()
    })
    const stored = Buffer.concat(chunks)
    writeFileSync(file('pod.json'), stored)
    const bare = await serve(join(root, 'scripts/bench/bare-server.ts'), [
      file('apiserver.crt'),
      file('apiserver.key'),
      file('pod.json'),
      String(listed),
    ])
    running.push(bare)
    const yardstick: Endpoint = { origin: `https://127.0.0.1:${bare.port}`, ...credentials }

    let count = 0
    const newPod = () => ({
      method: 'POST' as const,
      path: pods,
      body: Buffer.from(JSON.stringify(podManifest(`pod-${(count += 1)}`))),
    })
    const oneGet = { method: 'GET' as const, path: `${pods}/one` }
    for (const [connections, streams] of [
      [8, 8],
      [1, 1],
    ] as const) {
      const shape = { connections, streams, durationMs }
      const at = `${connections}×${streams}`
      await load(ours, { ...shape, durationMs: 1000, status: 200, next: () => oneGet })
      rate(
        `get ${stored.length} bytes, ${at} in flight`,
        await load(ours, { ...shape, status: 200, next: () => oneGet }),
        await load(yardstick, { ...shape, status: 200, next: () => oneGet }),
      )
      rate(
        `durable create, ${at} in flight`,
        await load(ours, { ...shape, status: 201, next: newPod }),
        await load(yardstick, { ...shape, status: 201, next: newPod }),
      )
    }
    const afterLoadMb = usage(server.child.pid!).residentMb

    // A list of exactly `listed` pods: in a namespace of its own, so that the creates above do not count.
    await exchange(session, {
      method: 'POST',
      path: '/api/v1/namespaces',
      body: Buffer.from('{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"listed"}}'),
    })
    const queue = Array.from({ length: listed }, (_, at) => at)
    await Promise.all(
      Array.from({ length: 64 }, async () => {
        for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
          await exchange(session, {
            method: 'POST',
            path: '/api/v1/namespaces/listed/pods',
            body: Buffer.from(JSON.stringify(podManifest(`pod-${at}`))),
          })
        }
      }),
    )
    const bareSession = openSession(yardstick)
    const listPath = '/api/v1/namespaces/listed/pods'
    const one = await exchange(session, { method: 'GET', path: listPath })
    time(
      `list of ${listed} pods (${(one.bytes / 2 ** 20).toFixed(0)} MiB)`,
      await timed(() => exchange(session, { method: 'GET', path: listPath })),
      await timed(() => exchange(bareSession, { method: 'GET', path: '/list' })),
      `first byte after ${one.firstByteMs.toFixed(0)} ms`,
    )
    for (const watchers of [100, 1000]) {
      time(
        `one event to ${watchers} watchers`,
        await fanOut(ours, {
          watchers,
          path: `${pods}?watch=1&resourceVersion=${await newestVersion(session)}`,
          fire: () => exchange(session, newPod()),
        }),
        await fanOut(yardstick, {
          watchers,
          path: '/watch',
          fire: () => exchange(bareSession, { method: 'GET', path: '/send' }),
        }),
        'from the start of the write to the last delivery',
      )
    }
    session.close()
    bareSession.close()
    rows.push({
      name: 'memory of the API server',
      skiff: `${idleMb.toFixed(0)} MB idle`,
      bare: `${usage(bare.child.pid!).residentMb.toFixed(0)} MB`,
      ratio: '',
      note: `${afterLoadMb.toFixed(0)} MB after ${count} creates, ${usage(server.child.pid!).peakMb.toFixed(0)} MB at most`,
    })
    await Promise.all(running.map((one) => one.stop()))
    for (const row of await measureUp(root)) rows.push(row)
    print()
  } finally {
    await Promise.all(running.map((one) => one.stop()))
    rmSync(folder, { recursive: true, force: true })
  }
}

async function newestVersion(session: ReturnType<typeof openSession>): Promise<string> {
  return await new Promise((resolve) => {
    const stream = session.request({ ':path': `${pods}?limit=1` })
    let text = ''
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
    stream.on('end', () => {
      resolve(
        (JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion,
      )
    })
    stream.end()
  })
}

function print(): void {
  const head: Row = { name: 'what', skiff: 'skiff', bare: 'bare', ratio: 'ratio', note: '' }
  const columns = ['name', 'skiff', 'bare', 'ratio', 'note'] as const
  const widths = columns.map((column) =>
    Math.max(...[head, ...rows].map((row) => row[column].length)),
  )
  for (const row of [head, ...rows]) {
    console.log(
      columns
        .map((column, at) => row[column].padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
  }
}

await main()
