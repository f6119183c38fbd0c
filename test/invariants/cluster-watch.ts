/**
 * ClusterWatch: the history of a cluster as its watches tell it, all kinds in one order. Each watch is in order by itself only, so
 * changes wait until every watch is known to have told all before them.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../components/client/client.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { Change } from './change.ts'
import { createKindFeed } from './kind-feed.ts'

export interface ClusterWatch extends AsyncDisposable {
  /**
   * Passes on every change up to now. False when the server did not answer in time; what has not been passed on waits for the
   * next time.
   */
  settle(withinMs?: number): Promise<boolean>
}

export interface ClusterWatchOptions {
  readonly client: Client
  readonly kinds: readonly Resource[]
  /** Called with every change, in the order of revisions. */
  readonly onChange: (change: Change) => void
  /** The server was given an earlier state: what was passed on says nothing of what follows. */
  readonly onReset: () => void
  readonly metadataOnly?: boolean
  /** False: the server is down, and is not asked. */
  readonly mayAsk?: () => boolean
}

/** So many waiting changes are passed on without being asked for. */
const mostWaiting = 2000

/** Disposing ends the watches; the client stays open. */
export function watchCluster(options: ClusterWatchOptions): ClusterWatch {
  const { client, kinds, onChange, onReset, metadataOnly = false } = options
  const { mayAsk = () => true } = options
  const stopping = new AbortController()
  let waiting: Change[] = []
  let settling: Promise<boolean> | undefined
  const feeds = kinds.map((resource) =>
    createKindFeed({
      client,
      resource,
      metadataOnly,
      mayAsk,
      onChange: (change) => {
        waiting.push(change)
        if (waiting.length % mostWaiting === 0) void settle()
      },
      onReset: () => {
        waiting = []
        onReset()
      },
    }),
  )
  const passOn = (revision: number): void => {
    const due = waiting.filter((change) => change.revision <= revision)
    waiting = waiting.filter((change) => change.revision > revision)
    for (const change of due.toSorted((a, b) => a.revision - b.revision)) onChange(change)
  }
  const ask = async (withinMs: number): Promise<boolean> => {
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(withinMs)])
    try {
      const asked = await Promise.all(feeds.map((feed) => feed.ask(signal)))
      while (!asked.every(({ isReached }) => isReached())) await delay(5, undefined, { signal })
      passOn(Math.min(...asked.map(({ revision }) => revision)))
      return true
    } catch {
      // The server is away, or the cluster is coming down.
      return false
    }
  }
  const settle = (withinMs = 10_000): Promise<boolean> => {
    // One after the other: what a later one is asked for came after the earlier one had begun.
    const before = settling ?? Promise.resolve(true)
    const next = before.then(() => ask(withinMs))
    settling = next
    return next
  }
  const running = feeds.map((feed) => feed.run(stopping.signal))
  return {
    settle,
    [Symbol.asyncDispose]: async () => {
      stopping.abort(new Error('the watch is over'))
      await Promise.all(running)
    },
  }
}
