/**
 * ClusterWatch: the history of a cluster as its watches report it, all kinds in one order. Each watch is in order by itself only, so
 * changes wait until every watch is known to have reported all before them.
 */
import type { Client } from '../../components/client/client.ts'
import { systemClock, type Clock } from '../../components/component-base/clock.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { Change } from '../change.ts'
import { createKindFeed, type KindFeed } from './kind-feed.ts'

export interface ClusterWatch extends AsyncDisposable {
  /**
   * Passes on every change up to now. False when the server did not answer in time; what has not been passed on waits for the
   * next time.
   */
  settle(withinMs?: number): Promise<boolean>
  /** The server was given another state, of which the feeds cannot know: all begin again, after `onReset`. */
  forget(): void
  /** Watches these kinds too; those that are watched already are skipped. */
  add(kinds: readonly Resource[]): void
  readonly kinds: readonly Resource[]
}

export interface ClusterWatchOptions {
  readonly client: Client
  readonly kinds: readonly Resource[]
  /** Called with every change, in the order of revisions. */
  readonly onChange: (change: Change) => void
  /** The server was given an earlier state: what was passed on says nothing of what follows. */
  readonly onReset: () => void
  /** The server does not serve a kind to this client. */
  readonly onRefused?: (why: string) => void
  /** Kinds of which only the metadata is asked for; default none. */
  readonly metadataOnly?: boolean | ((resource: Resource) => boolean)
  /** False: the server is down, and is not asked. */
  readonly mayAsk?: () => boolean
  /** The cluster's clock; default the system's. */
  readonly clock?: Pick<Clock, 'now'>
  readonly networkClock?: Clock
}

/** So many waiting changes are passed on without being asked for. */
const mostWaiting = 2000
const lookAgainMs = 5

/** Changes that wait for their turn. */
function createWaiting(onChange: (change: Change) => void) {
  let waiting: Change[] = []
  return {
    get count() {
      return waiting.length
    },
    add: (change: Change): void => void waiting.push(change),
    clear: (): void => {
      waiting = []
    },
    /** Passes on those up to a revision, in order. */
    passOn: (revision: number): void => {
      const due = waiting.filter((change) => change.revision <= revision)
      waiting = waiting.filter((change) => change.revision > revision)
      for (const change of due.toSorted((a, b) => a.revision - b.revision)) onChange(change)
    },
  }
}

/** The revision up to which all feeds have reported; undefined when the server did not answer in time. */
async function reachedRevision(
  feeds: readonly KindFeed[],
  { clock, stopping, withinMs }: { clock: Clock; stopping: AbortSignal; withinMs: number },
): Promise<number | undefined> {
  const late = new AbortController()
  const cancel = clock.after(withinMs, () => late.abort(new Error('no answer in time')))
  const signal = AbortSignal.any([stopping, late.signal])
  try {
    const asked = await Promise.all(feeds.map((feed) => feed.ask(signal)))
    while (!asked.every(({ isReached }) => isReached())) await clock.sleep(lookAgainMs, signal)
    return Math.min(...asked.map(({ revision }) => revision))
  } catch {
    // The server is away, or the cluster is coming down.
    return undefined
  } finally {
    cancel()
  }
}

/** Disposing ends the watches; the client stays open. */
export function watchCluster(options: ClusterWatchOptions): ClusterWatch {
  const { onChange, onReset, metadataOnly = false } = options
  const { clock = systemClock, networkClock = systemClock } = options
  const stopping = new AbortController()
  const running: Promise<void>[] = []
  const feeds: KindFeed[] = []
  const waiting = createWaiting(onChange)
  let settling: Promise<boolean> = Promise.resolve(true)
  const reset = (): void => {
    waiting.clear()
    onReset()
  }
  const settleOnce = async (withinMs: number): Promise<boolean> => {
    const how = { clock: networkClock, stopping: stopping.signal, withinMs }
    const revision = await reachedRevision(feeds, how)
    if (revision !== undefined) waiting.passOn(revision)
    return revision !== undefined
  }
  const settle = (withinMs = 10_000): Promise<boolean> => {
    // One after the other: what a later one is asked for came after the earlier one had begun.
    settling = settling.then(() => settleOnce(withinMs))
    return settling
  }
  const feedOf = (resource: Resource): KindFeed =>
    createKindFeed({
      ...options,
      resource,
      clock,
      networkClock,
      metadataOnly: typeof metadataOnly === 'boolean' ? metadataOnly : metadataOnly(resource),
      onChange: (change) => {
        waiting.add(change)
        if (waiting.count % mostWaiting === 0) void settle()
      },
      onReset: reset,
    })
  const add = (kinds: readonly Resource[]): void => {
    for (const kind of kinds) {
      if (feeds.some(({ resource }) => resource === kind)) continue
      const feed = feedOf(kind)
      feeds.push(feed)
      running.push(feed.run(stopping.signal))
    }
  }
  add(options.kinds)
  return {
    settle,
    add,
    forget: () => {
      reset()
      for (const feed of feeds) feed.forget()
    },
    get kinds() {
      return feeds.map(({ resource }) => resource)
    },
    [Symbol.asyncDispose]: async () => {
      stopping.abort(new Error('the watch is over'))
      await Promise.all(running)
    },
  }
}
