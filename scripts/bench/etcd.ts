/** Durable creates on etcd, beside a bare server that commits the same bytes to the same etcd; and how soon a watch has them. */
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { existsSync } from 'node:fs'
import { etcdProgram, startEtcd } from './etcd-process.ts'
import { answerOf, exchange, load, openSession, type Endpoint, type Request } from './load.ts'
import { podCreates, podsPath } from './pod.ts'
import { plainRow, quantile, rateRow, type Row } from './rows.ts'
import { type World } from './world.ts'

/** Watched writes, one after the other. */
const watchedWrites = 300

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
  if (!existsSync(etcdProgram))
    return [plainRow('etcd', '', `not measured: there is no ${etcdProgram}`)]
  const newPod = podCreates()
  const etcd = await startEtcd(world.file('etcd'))
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
