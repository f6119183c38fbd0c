/** Creates, strategic patches and applies per second, on one kind of object; and how all grow with the number of objects. */
import { filledNamespace, filledPath, fillStore, nameOf } from './filled-store.ts'
import { load, type Endpoint, type LoadResult, type Request } from './load.ts'
import { podManifest } from './pod.ts'
import { settled, usage } from './process.ts'
import { plainRow, rateRow, type Row } from './rows.ts'
import type { World } from './world.ts'

const shape = { connections: 8, streams: 8 }
/** Patches go to so many objects in turn, so that few meet. */
const patchedObjects = 500
const sizes = [1000, Number(process.env['BENCH_OBJECTS'] ?? '100000')] as const

interface Operation {
  readonly name: string
  readonly status: number
  readonly next: () => Request
}

/** A counter that every operation of a series shares: each request is about another object. */
interface Series {
  count: number
}

const bodyOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const patchedName = ({ count }: Series): string => nameOf(count % patchedObjects)

function strategicPatch(series: Series): Request {
  series.count += 1
  const { count } = series
  return {
    method: 'PATCH',
    path: `${filledPath}/${patchedName(series)}`,
    contentType: 'application/strategic-merge-patch+json',
    body: bodyOf({
      metadata: { labels: { turn: String(count) } },
      spec: { containers: [{ name: 'container-0', image: `registry.example/a:${count}` }] },
    }),
  }
}

function applyRequest(series: Series): Request {
  series.count += 1
  const { count } = series
  const name = patchedName(series)
  return {
    method: 'PATCH',
    path: `${filledPath}/${name}?fieldManager=bench&force=true`,
    contentType: 'application/apply-patch+yaml',
    body: bodyOf({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: filledNamespace, labels: { turn: String(count) } },
      spec: { containers: [{ name: 'container-0', image: `registry.example/a:${count}` }] },
    }),
  }
}

function getRequest(series: Series): Request {
  series.count += 1
  return { method: 'GET', path: `${filledPath}/${patchedName(series)}` }
}

function createRequest(series: Series): Request {
  series.count += 1
  const body = bodyOf(podManifest(`new-${series.count}`))
  return { method: 'POST', path: filledPath, body }
}

function operations(): Operation[] {
  const series: Series = { count: 0 }
  return [
    { name: 'get', status: 200, next: () => getRequest(series) },
    { name: 'create', status: 201, next: () => createRequest(series) },
    { name: 'strategic patch', status: 200, next: () => strategicPatch(series) },
    { name: 'apply', status: 200, next: () => applyRequest(series) },
    {
      name: 'page of 100',
      status: 200,
      next: () => ({ method: 'GET', path: `${filledPath}?limit=100` }),
    },
  ]
}

async function run(
  endpoint: Endpoint,
  operation: Operation,
  durationMs: number,
): Promise<LoadResult> {
  const { status, next } = operation
  await load(endpoint, { ...shape, durationMs: durationMs / 2, status, next })
  return await load(endpoint, { ...shape, durationMs, status, next })
}

export async function measureWrites(world: World, durationMs: number): Promise<Row[]> {
  const rows: Row[] = []
  const results = new Map<string, LoadResult[]>()
  for (const size of sizes) {
    const storeName = `writes-${size}.db`
    await fillStore(world, storeName, size)
    const server = await world.startServer(storeName, ['--quota-backend-bytes=-1'])
    await settled(server.pid)
    const resident = `${usage(server.pid).residentMb.toFixed(0)} MB`
    rows.push(plainRow(`resident after a start on ${size} objects`, resident))
    for (const operation of operations()) {
      const result = await run(server.endpoint, operation, durationMs)
      results.set(operation.name, [...(results.get(operation.name) ?? []), result])
    }
    await server.stop()
  }
  const bare = await world.startBare()
  const bareOf = async (operation: Operation): Promise<LoadResult> => {
    const path = operation.name.startsWith('page') ? '/items/100' : '/one'
    const status = operation.name === 'create' ? 201 : 200
    const next = (): Request => ({ ...operation.next(), path })
    return await run(bare.endpoint, { ...operation, status, next }, durationMs)
  }
  const creates = results.get('create')?.[0]?.perSecond ?? 1
  for (const operation of operations()) {
    const [small, large] = results.get(operation.name) ?? []
    if (small === undefined || large === undefined) continue
    const ofCreate = Math.round((small.perSecond / creates) * 100)
    const isWrite = operation.name.includes('patch') || operation.name === 'apply'
    const note = isWrite ? `${ofCreate} % of the creates` : ''
    const name = `${operation.name} among ${sizes[0]} objects`
    rows.push(rateRow(name, small, await bareOf(operation), note))
    const cost = Math.round((small.perSecond / large.perSecond) * 100)
    rows.push(
      plainRow(
        `${operation.name} among ${sizes[1]} objects`,
        `${Math.round(large.perSecond)}/s`,
        `costs ${cost} % of one among ${sizes[0]}`,
      ),
    )
  }
  await bare.stop()
  return rows
}
