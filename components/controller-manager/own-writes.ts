/**
 * OwnWrites: what a controller wrote and its informer has not shown yet. A reconciler that holds back while something is
 * pending never counts on a cache older than its own acts, and so never makes one object twice.
 */
import { ConnectionError } from '../client/connection-error.ts'
import type { ConnectionErrorCode } from '../client/connection-error.ts'
import type { Informer } from '../client/informer.ts'
import type { Clock } from '../component-base/clock.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { keyOf } from '../machinery/objects/object.ts'

interface Write {
  readonly owner: string
  /** The cache must hold this version or a later one; undefined waits for the object's end. */
  readonly version: number | undefined
  sinceMs: number
  readonly giveUpMs: number
}

export interface OwnWrites {
  /**
   * Sends a write, and remembers its answer. A write whose answer is lost may have had its effect: it is pending for as long as
   * informers commonly take to connect again and show that. Rejects as the write does.
   */
  send<T extends KubeObject>(owner: string, write: () => Promise<T>): Promise<T>
  /** The object was created or updated, and this is the server's answer. */
  wrote(owner: string, object: KubeObject): void
  /** The object was deleted: pending until the cache drops it or shows its deletion timestamp. */
  deleted(owner: string, object: KubeObject): void
  /** Somebody else deleted what was written for the owner, within seconds. */
  hasLostYoung(owner: string): boolean
  forgetLost(owner: string): void
  /** Milliseconds after which to stop waiting; undefined when the cache has caught up. */
  pendingMs(owner: string): number | undefined
}

/** A write that never shows (the object came and went while the watch was down) is given up after this long. */
const giveUpMs = 60_000
/** Informers that lost their connection try again four times within a second, and every few seconds then. */
const lostAnswerMs = 5_000

/** An object is young for so long. */
const youngMs = 10_000

const mayHaveArrived: ReadonlySet<ConnectionErrorCode> = new Set(['lost', 'timeout', 'malformed'])

function versionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion ?? 0)
}

/** Writes by the uid of their object, or by a name of their own. */
function createPending(clock: Clock) {
  const writes = new Map<string, Write>()
  const owners = new Map<string, Set<string>>()
  const forget = (id: string): void => {
    const write = writes.get(id)
    if (write === undefined) return
    writes.delete(id)
    const ids = owners.get(write.owner)
    ids?.delete(id)
    if (ids?.size === 0) owners.delete(write.owner)
  }
  const leftMs = (id: string): number => {
    const write = writes.get(id)
    if (write === undefined) return 0
    // A clock that was set back took no time away.
    write.sinceMs = Math.min(write.sinceMs, clock.now())
    return write.sinceMs + write.giveUpMs - clock.now()
  }
  return {
    get: (id: string): Write | undefined => writes.get(id),
    keep: (id: string, write: Omit<Write, 'sinceMs'>): void => {
      writes.set(id, { ...write, sinceMs: clock.now() })
      const ids = owners.get(write.owner) ?? new Set()
      owners.set(write.owner, ids.add(id))
    },
    forget,
    longestMs: (owner: string): number | undefined => {
      let longest: number | undefined
      for (const id of owners.get(owner) ?? []) {
        const left = leftMs(id)
        if (left <= 0) forget(id)
        else longest = Math.max(longest ?? 0, left)
      }
      return longest
    },
  }
}

/** Young objects, and the owners that lost one. */
function createYoung(clock: Clock) {
  /** By uid, the oldest first. */
  const young = new Map<string, { readonly owner: string; readonly atMs: number }>()
  const losers = new Set<string>()
  const forgetOld = (): void => {
    for (const [uid, { atMs }] of young) {
      if (Math.abs(clock.now() - atMs) < youngMs) return
      young.delete(uid)
    }
  }
  return {
    made: (owner: string, uid: string): void => {
      forgetOld()
      if (!young.has(uid)) young.set(uid, { owner, atMs: clock.now() })
    },
    forget: (uid: string): void => void young.delete(uid),
    lost: (uid: string): void => {
      forgetOld()
      const found = young.get(uid)
      young.delete(uid)
      if (found !== undefined) losers.add(found.owner)
    },
    losers,
  }
}

export function createOwnWrites(
  informers: Informer | readonly Informer[],
  clock: Clock,
): OwnWrites {
  const pending = createPending(clock)
  const young = createYoung(clock)
  const sources = [informers].flat() as readonly Informer[]
  let lost = 0

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
    if (cached === undefined ? version === undefined : isShown(cached, version)) pending.forget(uid)
    else pending.keep(uid, { owner, version, giveUpMs })
  }
  for (const informer of sources) {
    informer.onEvent(({ type, object }) => {
      const { uid = '' } = object.metadata
      if (type === 'delete') young.lost(uid)
      const write = pending.get(uid)
      if (write !== undefined && (type === 'delete' || isShown(object, write.version)))
        pending.forget(uid)
    })
  }

  const wrote = (owner: string, object: KubeObject): void => {
    young.made(owner, object.metadata.uid ?? '')
    remember(owner, object, versionOf(object))
  }
  return {
    send: async (owner, write) => {
      try {
        const answer = await write()
        wrote(owner, answer)
        return answer
      } catch (error) {
        if (error instanceof ConnectionError && mayHaveArrived.has(error.code)) {
          lost += 1
          pending.keep(`lost-${lost}`, { owner, version: Infinity, giveUpMs: lostAnswerMs })
        }
        throw error
      }
    },
    wrote,
    deleted: (owner, object) => {
      young.forget(object.metadata.uid ?? '')
      remember(owner, object, undefined)
    },
    hasLostYoung: (owner) => young.losers.has(owner),
    forgetLost: (owner) => void young.losers.delete(owner),
    pendingMs: pending.longestMs,
  }
}
