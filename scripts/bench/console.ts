/**
 * The console beside an API server with 1,000 nodes and 20,000 pods: how soon a page shows them all, how smooth it stays while pods change, what the
 * console's process holds and uses, and what open pages cost the API server's creates, in turn with creates that no page and that one plain watch
 * sees. BENCH_BEFORE names the dist folder of another build, in a copy of the repository's root, whose console takes turns, too.
 */
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { chromium, type Browser, type Page } from 'playwright-core'
import { consoleNodeOptions } from '../../cluster/plan/plan-console.ts'
import { createConsoleLink } from '../../cluster/console-link.ts'
import { encodeForStore } from '../../components/api-server/watch-cache/object-bytes.ts'
import { storeRoot } from '../../components/api-server/watch-cache/store-keys.ts'
import { createKubeconfig, formatKubeconfig } from '../../components/client/kubeconfig.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { openSqliteStore } from '../../components/store/sqlite-store.ts'
import { answerOf, exchange, openLoad, openSession, type Endpoint, type Request } from './load.ts'
import { podManifest, podsPath } from './pod.ts'
import { mainThreadUs, processorUs, serve, settled, usage } from './process.ts'
import { plainRow, quantile, type Row } from './rows.ts'
import { type World } from './world.ts'

const program = '/usr/bin/chromium'
const storeName = 'console.db'
const nodes = 1000
const pods = 20_000
const restMs = 20_000
const changesPerSecond = 50
const changingMs = 10_000
const pages = 5
const rounds = 3
const creates = 3000
/** The path of a create is compiled while it runs. */
const warmUp = 16_000
/** The console lets go of what no page follows. */
const lingerMs = 11_000
/** Until pages that have just opened have drawn all. */
const lookMs = 3000

function nodeObject(name: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {},
    status: {
      allocatable: { pods: '110', cpu: '4', memory: '16Gi' },
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
    },
  }
}

async function fill(world: World): Promise<void> {
  const store = await openSqliteStore({ path: world.file(storeName) })
  const pod = JSON.parse(world.pod.toString()) as KubeObject
  const put = async (key: string, object: KubeObject): Promise<unknown> =>
    await store.txn({
      key: `${storeRoot}${key}`,
      expectedRevision: 0,
      value: encodeForStore(object),
    })
  const status = {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [0, 1].map((at) => ({
      name: `container-${at}`,
      ready: true,
      state: { running: {} },
    })),
  }
  const names = Array.from({ length: nodes }, (_, at) => `node-${at}`)
  await Promise.all(names.map((name) => put(`minions/${name}`, nodeObject(name))))
  for (let from = 0; from < pods; from += 1000) {
    const some = Array.from({ length: 1000 }, (_, at) => from + at)
    await Promise.all(
      some.map((at) => {
        const name = `pod-${at}`
        const metadata = { ...pod.metadata, name, namespace: 'default', uid: name }
        const spec = { ...pod['spec'], nodeName: `node-${at % nodes}` }
        return put(`pods/default/${name}`, { ...pod, metadata, spec, status })
      }),
    )
  }
  await store.close()
}

interface ServedConsole {
  readonly pid: number
  link(): string
  stop(): Promise<void>
}

async function startConsole(
  world: World,
  { origin, ca, cert, key }: Endpoint,
  dist: string,
): Promise<ServedConsole> {
  const name = basename(dirname(dist))
  const [kubeconfig, secretFile] = [world.file(`${name}.kubeconfig`), world.file(`${name}.secret`)]
  const credentials = { cert: String(cert), key: String(key) }
  const config = createKubeconfig({
    ...{ cluster: 'bench', user: 'admin', server: origin, ca: String(ca), credentials },
  })
  await writeFile(kubeconfig, await formatKubeconfig(config), { mode: 0o600 })
  const args = [`--kubeconfig=${kubeconfig}`, `--link-secret-file=${secretFile}`]
  const { child, port, stop } = await serve(join(dist, 'console.js'), args, consoleNodeOptions)
  const secret = readFileSync(secretFile, 'utf8')
  return {
    pid: child.pid ?? 0,
    link: () => createConsoleLink({ host: '127.0.0.1', port, secret }, systemClock),
    stop,
  }
}

/** Resolves when the page shows all nodes, and at least so many pods. */
async function openPage(browser: Browser, link: string, least = pods): Promise<Page> {
  const page = await (await browser.newContext()).newPage()
  await page.goto(link)
  await page.getByText(`${nodes} of ${nodes} nodes Ready`).waitFor({ timeout: 120_000 })
  // A policy of the page forbids scripts made of text, so it cannot wait by itself.
  const count = page.locator('.counts strong').nth(1)
  while (Number(await count.innerText()) < least) await delay(50)
  return page
}

/** Milliseconds between frames that the page draws, for as long as given. */
const frames = (ms: number): string => `new Promise((resolve) => {
  const gaps = []
  const endMs = performance.now() + ${ms}
  let last = performance.now()
  const frame = (now) => {
    gaps.push(now - last)
    last = now
    if (now < endMs) requestAnimationFrame(frame)
    else resolve(gaps)
  }
  requestAnimationFrame(frame)
})`

async function changePods(endpoint: Endpoint, signal: AbortSignal): Promise<void> {
  const session = openSession(endpoint)
  for (let at = 0; !signal.aborted; at += 1) {
    const body = Buffer.from(JSON.stringify({ metadata: { labels: { turn: String(at) } } }))
    const path = `${podsPath}/pod-${(at * 7) % pods}`
    await exchange(session, {
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body,
    })
    await delay(1000 / changesPerSecond)
  }
  session.close()
}

async function smoothness(page: Page, endpoint: Endpoint): Promise<Row> {
  const stop = new AbortController()
  const changing = changePods(endpoint, stop.signal)
  const gaps = (await page.evaluate(frames(changingMs))) as number[]
  stop.abort()
  await changing
  gaps.sort((one, other) => one - other)
  const shown = (share: number): string => `${(quantile(gaps, share) ?? 0).toFixed(0)} ms`
  return plainRow(
    `a frame of the page while ${changesPerSecond} pods change a second`,
    shown(0.5),
    `p99 ${shown(0.99)}, longest ${shown(1)}`,
  )
}

/** Processor time of the process while nothing changes, as a share of a core. */
async function restShare(pid: number): Promise<string> {
  await delay(5000)
  const before = usage(pid).cpuMs
  await delay(restMs)
  return `${(((usage(pid).cpuMs - before) / restMs) * 100).toFixed(1)} % of a core`
}

interface Stage {
  readonly browser: Browser
  readonly served: ServedConsole
  readonly endpoint: Endpoint
}

async function onePage({ browser, served, endpoint }: Stage): Promise<Row[]> {
  const { pid } = served
  const megabytes = (): string => {
    const { residentMb, peakMb } = usage(pid)
    return `${residentMb.toFixed(0)} MB resident, peak ${peakMb.toFixed(0)} MB`
  }
  const rows = [plainRow('the console without a page', await restShare(pid), megabytes())]
  const startedAt = performance.now()
  const page = await openPage(browser, served.link())
  const seconds = (performance.now() - startedAt) / 1000
  rows.push(plainRow('a page until it shows all of them', `${seconds.toFixed(1)} s`))
  rows.push(plainRow('the console with a page at rest', await restShare(pid), megabytes()))
  rows.push(await smoothness(page, endpoint))
  await page.context().close()
  await delay(lingerMs)
  return rows
}

/** What one create costs the API server's main thread and all its threads in µs; the median of several rounds. */
interface Cost {
  readonly mainUs: number[]
  readonly allUs: number[]
}

function costRow(what: string, { mainUs, allUs }: Cost, note = ''): Row {
  const [main, all] = [mainUs, allUs].map((taken) => taken.toSorted((one, other) => one - other))
  const shown = (taken: number[] = []): string =>
    `${quantile(taken, 0.5).toFixed(0)} µs (${taken[0]?.toFixed(0)} to ${taken.at(-1)?.toFixed(0)})`
  return plainRow(what, `main thread ${shown(main)}`, `all threads ${shown(all)}${note}`)
}

function createMeter({ endpoint, pid }: { readonly endpoint: Endpoint; readonly pid: number }) {
  let made = 0
  const next = (): Request => {
    made += 1
    const body = Buffer.from(JSON.stringify(podManifest(`made-${made}`)))
    return { method: 'POST', path: podsPath, body }
  }
  const shape = { connections: 8, streams: 8, status: 201, next }
  const run = async (requests: number, { mainUs, allUs }: Cost): Promise<void> => {
    const load = openLoad(endpoint, shape)
    // The handshakes of its connections are not measured.
    await load.run(200)
    const before = [mainThreadUs(pid), processorUs(pid)] as const
    await load.run(requests)
    load.close()
    mainUs.push((mainThreadUs(pid) - before[0]) / requests)
    allUs.push((processorUs(pid) - before[1]) / requests)
  }
  return { measure: (into: Cost) => run(creates, into), warm: () => run(warmUp, newCost()) }
}

const newCost = (): Cost => ({ mainUs: [], allUs: [] })

/** A watch of all pods, as any client opens it, that reads whatever comes. */
async function openWatch(endpoint: Endpoint): Promise<() => void> {
  const session = openSession(endpoint)
  const list = JSON.parse((await answerOf(session, `${podsPath}?limit=1`)).toString()) as {
    readonly metadata: { readonly resourceVersion: string }
  }
  const { resourceVersion } = list.metadata
  const stream = session.request({
    ':path': `${podsPath}?watch=true&resourceVersion=${resourceVersion}`,
  })
  stream.on('error', () => {})
  stream.resume()
  await new Promise((resolve) => stream.once('response', resolve))
  return () => session.destroy()
}

interface Side {
  readonly name: string
  readonly served: ServedConsole
  readonly cost: Cost
  residentMb: number
}

/** What open pages cost the API server's creates. All take turns, so that whatever else the machine does meets all of them. */
async function severalPages(
  { browser, endpoint }: Stage,
  { serverPid, consoles }: { readonly serverPid: number; readonly consoles: readonly Side[] },
): Promise<Row[]> {
  const { measure, warm } = createMeter({ endpoint, pid: serverPid })
  const [alone, watched] = [newCost(), newCost()]
  await warm()
  for (let round = 0; round < rounds; round += 1) {
    await settled(serverPid)
    await measure(alone)
    const leave = await openWatch(endpoint)
    await measure(watched)
    leave()
    for (const side of consoles) {
      const opened: Page[] = []
      for (let at = 0; at < pages; at += 1) {
        opened.push(await openPage(browser, side.served.link(), pods))
      }
      await delay(lookMs)
      await measure(side.cost)
      side.residentMb = Math.max(side.residentMb, usage(side.served.pid).residentMb)
      for (const page of opened) await page.context().close()
      await delay(lingerMs)
    }
  }
  return [
    costRow('a create without a page', alone),
    costRow('a create while a client watches pods', watched),
    ...consoles.map(({ name, cost, residentMb }) =>
      costRow(
        `a create with ${pages} pages open${name}`,
        cost,
        `; the console at most ${residentMb.toFixed(0)} MB resident after a round`,
      ),
    ),
  ]
}

export async function measureConsole(world: World): Promise<Row[]> {
  if (!existsSync(program)) {
    return [plainRow('the console', '', `not measured: there is no ${program}`)]
  }
  await fill(world)
  const server = await world.startServer(storeName)
  const { endpoint, pid: serverPid } = server
  const before = process.env['BENCH_BEFORE']
  const sideOf = async (name: string, dist: string): Promise<Side> => {
    const served = await startConsole(world, endpoint, dist)
    return { name, served, cost: newCost(), residentMb: 0 }
  }
  const now = await sideOf('', join(world.root, 'dist'))
  const consoles = [...(before === undefined ? [] : [await sideOf(', before', before)]), now]
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] })
  const stage = { browser, served: now.served, endpoint }
  try {
    return [...(await onePage(stage)), ...(await severalPages(stage, { serverPid, consoles }))]
  } finally {
    await browser.close()
    for (const { served } of consoles) await served.stop()
    await server.stop()
  }
}
