/** Durable creates on etcd, beside a bare server that commits the same bytes to the same etcd; and how soon a watch has them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'
import { existsSync } from 'node:fs'
import { answerOf, exchange, load, openSession, type Endpoint, type Request } from './load.ts'
import { podManifest } from './pod.ts'
import { plainRow, quantile, rateRow, type Row } from './rows.ts'
import { podsPath, type World } from './world.ts'

const program = '/usr/bin/etcd'
/** Watched writes, one after the other. */
const watchedWrites = 300

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** A new etcd of one member that answers; its folder goes with the world. */
async function startEtcd(world: World): Promise<{ url: string; stop(): Promise<void> }> {
  const url = `http://127.0.0.1:${await freePort()}`
  const peer = `http://127.0.0.1:${await freePort()}`
  const child = spawn(
    program,
    [
      ...['--name=m', `--data-dir=${world.file('etcd')}`, '--log-level=error'],
      ...[`--listen-client-urls=${url}`, `--advertise-client-urls=${url}`],
      ...[`--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`],
      `--initial-cluster=m=${peer}`,
    ],
    { stdio: 'ignore' },
  )
  const exited = once(child, 'exit')
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await exited
  }
  for (const endMs = performance.now() + 30_000; ;) {
    const answer = await fetch(`${url}/health`).catch(() => undefined)
    if (answer?.ok === true) return { url, stop }
    if (performance.now() > endMs) throw new Error('etcd does not answer')
  }
}

/** Median times in ms from the start of a write: to its answer, and to its event. */
async function delays(
  endpoint: Endpoint,
  newPod: () => Request,
): Promise<{ answerMs: number; eventMs: number }> {
  const [writer, reader] = [openSession(endpoint), openSession(endpoint)]
  const list = JSON.parse((await answerOf(writer, `${podsPath}?limit=1`)).toString()) as {
    metadata: { resourceVersion: string }
  }
  const path = `${podsPath}?watch=1&resourceVersion=${list.metadata.resourceVersion}`
  const stream = reader.request({ ':path': path })
  let wake = (): void => {}
  stream.on('data', (chunk: Buffer) => {
    if (chunk.includes(10)) wake()
  })
  await once(stream, 'response')
  const answers: number[] = []
  const events: number[] = []
  for (let at = 0; at < watchedWrites; at += 1) {
    const startedAt = performance.now()
    const event = new Promise<void>((resolve) => (wake = resolve)).then(() =>
      events.push(performance.now() - startedAt),
    )
    await exchange(writer, newPod())
    answers.push(performance.now() - startedAt)
    await event
  }
  writer.close()
  reader.destroy()
  return { answerMs: quantile(answers, 0.5), eventMs: quantile(events, 0.5) }
}

export async function measureEtcd(world: World, durationMs: number): Promise<Row[]> {
  if (!existsSync(program)) return [plainRow('etcd', '', `not measured: there is no ${program}`)]
  let count = 0
  const newPod = (): Request => ({
    method: 'POST',
    path: podsPath,
    body: Buffer.from(JSON.stringify(podManifest(`pod-${(count += 1)}`))),
  })
  const etcd = await startEtcd(world)
  const server = await world.startServer('', [`--store=etcd:${etcd.url}`])
  const bare = await world.startBare(etcd.url)
  const embedded = await world.startServer('beside-etcd.db')
  const rows: Row[] = []
  for (const inFlight of [1, 8]) {
    const shape = { connections: inFlight, streams: inFlight, status: 201, next: newPod }
    const measure = async (endpoint: Endpoint) => {
      await load(endpoint, { ...shape, durationMs: durationMs / 2 })
      return await load(endpoint, { ...shape, durationMs })
    }
    const name = `durable create on etcd, ${inFlight}×${inFlight} in flight`
    rows.push(rateRow(name, await measure(server.endpoint), await measure(bare.endpoint)))
  }
  for (const [name, { endpoint }] of Object.entries({ etcd: server, SQLite: embedded })) {
    const { answerMs, eventMs } = await delays(endpoint, newPod)
    const note = `the answer to the write after ${answerMs.toFixed(2)} ms`
    rows.push(plainRow(`watch event of a create on ${name}`, `${eventMs.toFixed(2)} ms`, note))
  }
  await Promise.all([server.stop(), bare.stop(), embedded.stop()])
  await etcd.stop()
  return rows
}
