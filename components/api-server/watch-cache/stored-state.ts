/** stored-state: all that a store holds at one revision, by collection. */
import type { KeyValue } from '../../store/store.ts'
import { Entry } from './entry.ts'
import type { Unreadable } from './unreadable.ts'

export interface StoredCollection {
  /** In key order. */
  readonly entries: Entry[]
  readonly unreadable: Unreadable[]
}

export interface StoredState {
  readonly revision: number
  /** By storage prefix. */
  readonly collections: ReadonlyMap<string, StoredCollection>
}

type Place = { readonly prefix: string; readonly key: string }

export interface StateReading {
  /** What must be waited for before these are read, if anything. */
  prepare(kvs: readonly KeyValue[]): Promise<void> | undefined
  placeOf(storeKeyText: string): Place | undefined
  read(kv: KeyValue, place: Place): Entry | Unreadable
  /** The entry of a key that is in memory already; it is taken when its revision is the stored one. */
  known(place: Place): Entry | undefined
}

/** Reads pages of one revision, in key order. Entries that were not in memory are decoded when a reader needs them. */
export async function readState(
  pages: AsyncIterable<{ kvs: readonly KeyValue[]; revision: number }>,
  reading: StateReading,
): Promise<StoredState> {
  const collections = new Map<string, StoredCollection>()
  let revision = 0
  for await (const page of pages) {
    revision = page.revision
    await reading.prepare(page.kvs)
    for (const kv of page.kvs) {
      const place = reading.placeOf(kv.key)
      if (place === undefined) continue
      const collection = collections.get(place.prefix) ?? { entries: [], unreadable: [] }
      collections.set(place.prefix, collection)
      const known = reading.known(place)
      const read = known?.revision === kv.modRevision ? known : reading.read(kv, place)
      if (!(read instanceof Entry)) collection.unreadable.push(read)
      else {
        if (read !== known) read.isProven = false
        collection.entries.push(read)
      }
    }
  }
  return { revision, collections }
}
