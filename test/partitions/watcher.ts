/** A watcher: follows all objects through one API server after the other, and goes on where it was after each break. */
import { setTimeout as delay } from 'node:timers/promises'
import type { WatchItem } from '../histories/history.ts'
import type { TestWatch, WatchEvent } from '../support/api-client.ts'
import type { Connections } from './connections.ts'
import { collectionPath, objectIn, type Recorder, type StoredObject } from './recorder.ts'

/** A watch that shows nothing for so long is given up. */
const silentMs = 3000
const retryMs = 50

export interface Watcher {
  readonly name: string
  /** Everything up to here was shown; 0 at first. */
  readonly revision: number
  /** How often it had to list again, because history was gone. */
  readonly relists: number
  readonly ended: Promise<void>
}

export function startWatcher(options: {
  name: string
  /** The server to begin with. */
  first: number
  connections: Connections
  recorder: Recorder
  signal: AbortSignal
}): Watcher {
  const { name, connections, recorder, signal } = options
  const at = { revision: 0, relists: 0 }
  const run = async (): Promise<void> => {
    for (let which = options.first; !signal.aborted; which += 1) {
      const { server } = connections.to(which)
      const items: WatchItem[] = []
      const from = at.revision
      try {
        const callMs = performance.now()
        const watch = await open(connections, { which, from })
        const asked = { recorder, name, server, callMs }
        const first = from > 0 ? from : await initialState(watch, asked)
        at.revision = first
        recorder.watches.push({ client: name, server, from: first, items })
        await follow(watch, { signal, onItem: (item) => items.push(item), at })
      } catch (error) {
        if (isGone(error)) {
          at.relists += 1
          at.revision = 0
        }
      }
      connections.cut(which)
      await delay(retryMs)
    }
  }
  const ended = run()
  return {
    name,
    get revision() {
      return at.revision
    },
    get relists() {
      return at.relists
    },
    ended,
  }
}

class GoneError extends Error {}

function isGone(error: unknown): boolean {
  return (
    error instanceof GoneError ||
    (error instanceof Error && 'status' in error && error.status === 410)
  )
}

async function open(
  connections: Connections,
  { which, from }: { which: number; from: number },
): Promise<TestWatch> {
  const { api } = connections.to(which)
  const start =
    from > 0
      ? `resourceVersion=${from}`
      : 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
  return await api.watch(`${collectionPath}?watch=1&allowWatchBookmarks=true&${start}`)
}

/** The objects before the first bookmark; resolves with its revision. The watch was asked for at `callMs`. */
async function initialState(
  watch: TestWatch,
  asked: { recorder: Recorder; name: string; server: string; callMs: number },
): Promise<number> {
  const { recorder, name, server, callMs } = asked
  const items: StoredObject[] = []
  for (;;) {
    const event = await nextOf(watch)
    if (event.type !== 'BOOKMARK') {
      items.push(objectIn(event.object))
      continue
    }
    const revision = Number(event.object.metadata.resourceVersion)
    const times = { callMs, returnMs: performance.now() }
    // The state was chosen when the server opened the watch, before its first byte came.
    recorder.lists.push({ client: name, server, isCached: true, ...times, revision, items })
    return revision
  }
}

async function nextOf(watch: TestWatch): Promise<WatchEvent> {
  const late = new AbortController()
  const timer = delay(silentMs, undefined, { signal: late.signal }).then(() => {
    watch.close()
    throw new Error('the watch is silent')
  })
  timer.catch(() => {})
  try {
    const event = await Promise.race([watch.next(), timer])
    if (event.type !== 'ERROR') return event
    throw event.object.code === 410
      ? new GoneError('history is gone')
      : new Error('the watch failed')
  } finally {
    late.abort()
  }
}

async function follow(
  watch: TestWatch,
  {
    signal,
    onItem,
    at,
  }: { signal: AbortSignal; onItem: (item: WatchItem) => void; at: { revision: number } },
): Promise<void> {
  const stop = (): void => watch.close()
  signal.addEventListener('abort', stop, { once: true })
  try {
    for (;;) {
      const { type, object } = await nextOf(watch)
      const item: WatchItem =
        type === 'BOOKMARK'
          ? { type, revision: Number(object.metadata.resourceVersion) }
          : { type: type as 'ADDED', ...objectIn(object) }
      onItem(item)
      at.revision = item.revision
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
