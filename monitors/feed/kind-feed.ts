/** KindFeed: every state of one kind's objects, from a list and the watch after it. Goes on where it was when a watch ends. */
import type { Client } from '../../components/client/client.ts'
import type { ResourceClient, WatchEvent } from '../../components/client/resource-client.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import type { KubeList, KubeObject } from '../../components/machinery/objects/object.ts'
import { qualifiedName, type Resource } from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { Change } from '../change.ts'
import { uidOf } from '../change.ts'

export interface KindFeed {
  readonly resource: Resource
  /** Runs until the signal aborts, whatever happens to the server. */
  run(signal: AbortSignal): Promise<void>
  /** The server was given another state: forgets what is known, and lists. */
  forget(): void
  /** Asks the server, and gives the revision up to which this feed has reported everything once `isReached` says so. */
  ask(signal: AbortSignal): Promise<{ revision: number; isReached: () => boolean }>
}

export interface FeedOptions {
  readonly client: Client
  readonly resource: Resource
  readonly onChange: (change: Change) => void
  /** The server's revisions went back: it was given another state. What is known of this kind is forgotten. */
  readonly onReset: () => void
  /** The server does not serve the kind to this client; it is asked again now and then. */
  readonly onRefused?: ((why: string) => void) | undefined
  /** Asks for metadata alone. */
  readonly metadataOnly?: boolean
  /** False: nothing is sent to the server, whose address somebody else may have. Default: always true. */
  readonly mayAsk?: () => boolean
  /** Stamps the changes: the cluster's. */
  readonly clock: Pick<Clock, 'now'>
  /** Waits: real time, whatever the cluster's clock does. */
  readonly networkClock: Clock
}

const retryMs = 50
/** A kind that is gone or forbidden is asked for this often. */
const refusedMs = 2000

const versionOf = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion)
const isRefused = (error: unknown): boolean =>
  isStatusError(error, 'NotFound', 'Forbidden', 'MethodNotAllowed')

export function createKindFeed(options: FeedOptions): KindFeed {
  const { client, resource, onReset, networkClock, metadataOnly = false } = options
  const { mayAsk = () => true, onRefused } = options
  const states = createStates(options)
  const one = client.resource(resource)
  let mustList = true
  let current = new AbortController()

  const takeList = ({ items, metadata }: KubeList<KubeObject>): void => {
    if (Number(metadata.resourceVersion) < states.position) {
      states.clear()
      onReset()
    }
    states.replace(items, Number(metadata.resourceVersion))
    mustList = false
  }
  const takeEvent = ({ type, object }: WatchEvent): void => {
    states.position = versionOf(object)
    if (type !== 'BOOKMARK') states.tell(type, object, states.position)
  }
  const round = async (signal: AbortSignal): Promise<void> => {
    if (mustList) takeList(await one.list({ metadataOnly }, signal))
    const resourceVersion = String(states.position)
    const watch = one.watch({ allowWatchBookmarks: true, metadataOnly, resourceVersion }, signal)
    for await (const event of watch) takeEvent(event)
  }
  const refused = (error: Error): void => {
    onRefused?.(`${qualifiedName(resource)} cannot be watched: ${error.message}`)
    // Its objects went with it.
    states.replace([], states.position)
    mustList = true
  }
  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      let waitMs = retryMs
      current = new AbortController()
      try {
        if (mayAsk()) await round(AbortSignal.any([signal, current.signal]))
      } catch (error) {
        // Timeout: the server does not know the revision, and may never.
        if (isStatusError(error, 'Expired', 'Gone', 'Timeout')) mustList = true
        if (isRefused(error) && !signal.aborted) {
          refused(error as Error)
          waitMs = refusedMs
        }
      }
      // The server may be away; it is also asked again when it refuses.
      await networkClock.sleep(waitMs, signal).catch(() => {})
    }
  }
  const ask: KindFeed['ask'] = async (signal) => {
    if (!mayAsk()) throw new Error('there is no server to ask')
    const listed = await listedNow(one, signal)
    if (listed === undefined) return { revision: Infinity, isReached: () => true }
    const { items, revision } = listed
    return { revision, isReached: () => states.isAt(items, revision) && !mustList }
  }
  const forget = (): void => {
    states.clear()
    mustList = true
    current.abort(new Error('the server has another state'))
  }
  return { resource, run, ask, forget }
}

/** What there is now; undefined for a kind that the server does not serve to this client. */
async function listedNow(
  objects: ResourceClient,
  signal: AbortSignal,
): Promise<{ items: readonly KubeObject[]; revision: number } | undefined> {
  try {
    const { items, metadata } = await objects.list({ metadataOnly: true }, signal)
    return { items, revision: Number(metadata.resourceVersion) }
  } catch (error) {
    if (!isRefused(error)) throw error
    return undefined
  }
}

/** The newest state of each object, and how far they are. */
function createStates({ resource, onChange, clock }: FeedOptions) {
  const objects = new Map<string, KubeObject>()
  const pass = (
    type: Change['type'],
    object: KubeObject,
    more: { revision: number; isListed: boolean },
  ): void => {
    const uid = uidOf(object)
    const old = objects.get(uid)
    if (type === 'DELETED') objects.delete(uid)
    else objects.set(uid, object)
    onChange({ type, resource, object, old, ...more, atMs: clock.now() })
  }
  const states = {
    position: 0,
    clear: (): void => {
      objects.clear()
      states.position = 0
    },
    tell: (type: Change['type'], object: KubeObject, revision: number) =>
      pass(type, object, { revision, isListed: false }),
    replace: (items: readonly KubeObject[], revision: number): void => {
      const listed = new Set(items.map(uidOf))
      for (const [uid, object] of objects)
        if (!listed.has(uid)) pass('DELETED', object, { revision, isListed: true })
      for (const item of items) {
        const known = objects.get(uidOf(item))
        if (known !== undefined && versionOf(known) === versionOf(item)) continue
        const type = known === undefined ? 'ADDED' : 'MODIFIED'
        pass(type, item, { revision: versionOf(item), isListed: true })
      }
      states.position = revision
    },
    /** Whether all is known that these objects, listed at this revision, show. */
    isAt: (items: readonly KubeObject[], revision: number): boolean => {
      if (states.position >= revision) return true
      const listed = new Set(items.map(uidOf))
      for (const item of items) {
        const known = objects.get(uidOf(item))
        // One that came and went since the list was reported in order.
        if (
          known === undefined
            ? states.position < versionOf(item)
            : versionOf(known) < versionOf(item)
        )
          return false
      }
      for (const [uid, object] of objects)
        if (!listed.has(uid) && versionOf(object) <= revision) return false
      return true
    },
  }
  return states
}
