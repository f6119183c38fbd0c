/** KindFeed: every state of one kind's objects, from a list and the watch after it. Goes on where it was when a watch ends. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../components/client/client.ts'
import type { WatchEvent } from '../../components/client/resource-client.ts'
import type { KubeList, KubeObject } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { Change } from './change.ts'
import { uidOf } from './change.ts'

export interface KindFeed {
  /** Runs until the signal aborts, whatever happens to the server. */
  run(signal: AbortSignal): Promise<void>
  /** Asks the server, and gives the revision up to which this feed has told everything once `isReached` says so. */
  ask(signal: AbortSignal): Promise<{ revision: number; isReached: () => boolean }>
}

export interface FeedOptions {
  readonly client: Client
  readonly resource: Resource
  readonly onChange: (change: Change) => void
  /** The server's revisions went back: it was given another state. What is known of this kind is forgotten. */
  readonly onReset: () => void
  /** Asks for metadata alone. */
  readonly metadataOnly?: boolean
  /** False: nothing is sent to the server, whose address somebody else may have. Default: always true. */
  readonly mayAsk?: () => boolean
}

const versionOf = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion)

export function createKindFeed(options: FeedOptions): KindFeed {
  const { client, resource, onChange, onReset, metadataOnly = false } = options
  const { mayAsk = () => true } = options
  const objects = new Map<string, KubeObject>()
  const one = client.resource(resource)
  let position = 0
  let mustList = true

  const tell = (
    type: Change['type'],
    object: KubeObject,
    more: { revision: number; isListed: boolean },
  ): void => {
    const uid = uidOf(object)
    const old = objects.get(uid)
    if (type === 'DELETED') objects.delete(uid)
    else objects.set(uid, object)
    onChange({ type, resource, object, old, ...more, atMs: Date.now() })
  }
  const takeList = ({ items, metadata }: KubeList<KubeObject>): void => {
    const revision = Number(metadata.resourceVersion)
    if (revision < position) {
      objects.clear()
      onReset()
    }
    const listed = new Set(items.map(uidOf))
    for (const [uid, object] of objects) {
      if (!listed.has(uid)) tell('DELETED', object, { revision, isListed: true })
    }
    for (const item of items) {
      const known = objects.get(uidOf(item))
      if (known !== undefined && versionOf(known) === versionOf(item)) continue
      const type = known === undefined ? 'ADDED' : 'MODIFIED'
      tell(type, item, { revision: versionOf(item), isListed: true })
    }
    position = revision
    mustList = false
  }
  const takeEvent = ({ type, object }: WatchEvent): void => {
    const revision = versionOf(object)
    position = revision
    if (type === 'BOOKMARK') return
    tell(type, object, { revision, isListed: false })
  }
  const round = async (signal: AbortSignal): Promise<void> => {
    if (mustList) takeList(await one.list({ metadataOnly }, signal))
    const from = { resourceVersion: String(position), allowWatchBookmarks: true, metadataOnly }
    for await (const event of one.watch(from, signal)) takeEvent(event)
  }
  return {
    run: async (signal) => {
      while (!signal.aborted) {
        try {
          if (mayAsk()) await round(signal)
        } catch (error) {
          // Timeout: the server does not know the revision, and may never.
          if (isStatusError(error, 'Expired', 'Gone', 'Timeout')) mustList = true
        }
        // The server may be away; it is also asked again when it refuses.
        await delay(50, undefined, { signal }).catch(() => {})
      }
    },
    ask: async (signal) => {
      if (!mayAsk()) throw new Error('there is no server to ask')
      const { items, metadata } = await one.list({ metadataOnly: true }, signal)
      const revision = Number(metadata.resourceVersion)
      const listed = new Map(items.map((item) => [uidOf(item), versionOf(item)]))
      const isReached = (): boolean => {
        if (position >= revision) return true
        for (const [uid, version] of listed) {
          const known = objects.get(uid)
          // One that came and went since the list was told in order.
          if (known === undefined ? position < version : versionOf(known) < version) return false
        }
        for (const [uid, object] of objects) {
          if (!listed.has(uid) && versionOf(object) <= revision) return false
        }
        return !mustList
      }
      return { revision, isReached }
    },
  }
}
