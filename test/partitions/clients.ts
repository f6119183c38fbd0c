/** Clients that write and read one object at a time, and one that lists them all, until they are stopped. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Request } from '../histories/operation.ts'
import type { Reply } from '../support/api-client.ts'
import type { Connections } from './connections.ts'
import type { Step } from './plan.ts'
import { callOf, collectionPath, objectIn, type Recorder, type StoredObject } from './recorder.ts'

interface Client {
  readonly number: number
  readonly steps: readonly Step[]
  readonly connections: Connections
  readonly recorder: Recorder
  readonly signal: AbortSignal
}

/** Takes step after step, from the first again after the last. */
export async function runClient({ number, steps, ...client }: Client): Promise<void> {
  const { connections, recorder, signal } = client
  const seen = new Map<string, number>()
  for (let count = 0; !signal.aborted; count += 1) {
    const step = steps[count % steps.length]
    if (step === undefined) return
    const { key } = step
    const request = requestOf(step, { value: `value-${number}-${count}-end`, seen: seen.get(key) })
    const { api, server } = connections.to(step.server)
    const { method, path, ...ask } = callOf(key, request)
    const asked = { client: `c${number}`, server, key, request }
    const outcome = await recorder.record(asked, async () => await api.request(method, path, ask))
    if ('revision' in outcome) seen.set(key, outcome.revision)
    await delay(step.waitMs)
  }
}

function requestOf(
  { verb, isConditional }: Step,
  { value, seen }: { value: string; seen: number | undefined },
): Request {
  const expectation = isConditional && seen !== undefined ? { expected: seen } : {}
  switch (verb) {
    case 'create':
      return { verb, value }
    case 'update':
    case 'patch':
      return { verb, value, ...expectation }
    case 'delete':
      return { verb, ...expectation }
    case 'get':
      return { verb }
    case 'cached-get':
      return { verb: 'get', isCached: true }
  }
}

type Kind = 'newest' | 'cached' | 'exact' | 'paged'
const kinds: readonly Kind[] = ['newest', 'cached', 'paged', 'exact']
const listEveryMs = 60

/** Lists in turn from each server, each kind of list. */
export async function runLister(lister: Omit<Client, 'number' | 'steps'>): Promise<void> {
  const { connections, recorder, signal } = lister
  let newest = 0
  for (let count = 0; !signal.aborted; count += 1) {
    const kind = kinds[count % kinds.length] ?? 'newest'
    // The number of servers and that of kinds may have a divisor in common.
    const which = Math.floor(count / kinds.length) + count
    newest = Math.max(newest, (await listOnce({ connections, recorder, which, kind, newest })) ?? 0)
    await delay(listEveryMs)
  }
}

/** Resolves with the revision of the list, undefined if there was no answer. */
export async function listOnce(options: {
  connections: Connections
  recorder: Recorder
  which: number
  kind: Kind
  /** A revision that has been seen. */
  newest: number
}): Promise<number | undefined> {
  const { recorder, kind, newest } = options
  const { api, server } = options.connections.to(options.which)
  // What it was a moment ago.
  const exactly = Math.max(1, newest - 3)
  const queries = {
    newest: '',
    cached: 'resourceVersion=0',
    exact: `resourceVersion=${exactly}&resourceVersionMatch=Exact`,
    paged: 'limit=2',
  }
  if (kind === 'exact' && newest === 0) return undefined
  const callMs = performance.now()
  const pages = await pagesOf(queries[kind], async (query) => {
    return await api.request('GET', `${collectionPath}?${query}`)
  })
  if (pages === undefined) return undefined
  const { revision, items } = pages
  recorder.lists.push({
    client: 'lister',
    server,
    isCached: kind === 'cached',
    ...(kind === 'exact' ? { exactly } : {}),
    callMs,
    // A later page says nothing about the moment of the first, whose revision all have.
    returnMs: performance.now(),
    revision,
    items,
  })
  return revision
}

async function pagesOf(
  query: string,
  ask: (query: string) => Promise<Reply>,
): Promise<{ revision: number; items: StoredObject[] } | undefined> {
  const items: StoredObject[] = []
  for (let next = query; ;) {
    const reply = await ask(next).catch(() => undefined)
    if (reply?.status !== 200) return undefined
    const { body } = reply
    items.push(...(body.items as unknown[]).map((item) => objectIn(item)))
    const { continue: more = '', resourceVersion } = body.metadata
    if (more === '') return { revision: Number(resourceVersion), items }
    next = `limit=2&continue=${encodeURIComponent(more)}`
  }
}
