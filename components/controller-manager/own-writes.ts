/**
 * OwnWrites: what a controller wrote and its informer has not shown yet. A reconciler that holds back while something is
 * pending never counts on a cache older than its own acts, and so never makes one object twice.
 */
import type { Informer } from '../client/informer.ts'
import type { Clock } from '../component-base/clock.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { keyOf } from '../machinery/objects/object.ts'

interface Write {
  readonly owner: string
  /** The cache must hold this version or a later one; undefined waits for the object's end. */
  readonly version: number | undefined
  readonly untilMs: number
}

export interface OwnWrites {
  /** The object was created or updated, and this is the server's answer. */
  wrote(owner: string, object: KubeObject): void
  /** The object was deleted: pending until the cache drops it or shows its deletion timestamp. */
  deleted(owner: string, object: KubeObject): void
  /** Milliseconds after which to stop waiting; undefined when the cache has caught up. */
  pendingMs(owner: string): number | undefined
}

/** A write that never shows (the object came and went while the watch was down) is given up after this long. */
const giveUpMs = 60_000

function versionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion ?? 0)
}

export function createOwnWrites(
  informers: Informer | readonly Informer[],
  clock: Clock,
): OwnWrites {
  const writes = new Map<string, Write>()
  const owners = new Map<string, Set<string>>()
  const sources = [informers].flat() as readonly Informer[]

  const forget = (uid: string): void => {
    const write = writes.get(uid)
    if (write === undefined) return
    writes.delete(uid)
    const uids = owners.get(write.owner)
    uids?.delete(uid)
    if (uids?.size === 0) owners.delete(write.owner)
  }
  const isShown = (object: KubeObject, version: number | undefined): boolean =>
    version === undefined
      ? object.metadata.deletionTimestamp !== undefined
      : versionOf(object) >= version
  const remember = (owner: string, object: KubeObject, version: number | undefined): void => {
    const { uid = '' } = object.metadata
    const key = keyOf(object)
    const cached = sources
      .map((informer) => informer.get(key))
      .find((found) => found?.metadata.uid === uid)
    // A version of undefined waits for the end, which an absent object has reached.
    if (cached === undefined ? version === undefined : isShown(cached, version)) {
      forget(uid)
      return
    }
    writes.set(uid, { owner, version, untilMs: clock.now() + giveUpMs })
    const uids = owners.get(owner) ?? new Set()
    owners.set(owner, uids.add(uid))
  }
  for (const informer of sources) {
    informer.onEvent(({ type, object }) => {
      const { uid = '' } = object.metadata
      const write = writes.get(uid)
      if (write !== undefined && (type === 'delete' || isShown(object, write.version))) forget(uid)
    })
  }

  return {
    wrote: (owner, object) => remember(owner, object, versionOf(object)),
    deleted: (owner, object) => remember(owner, object, undefined),
    pendingMs: (owner) => {
      let longest: number | undefined
      for (const uid of owners.get(owner) ?? []) {
        const left = (writes.get(uid)?.untilMs ?? 0) - clock.now()
        if (left <= 0) forget(uid)
        else longest = Math.max(longest ?? 0, left)
      }
      return longest
    },
  }
}
