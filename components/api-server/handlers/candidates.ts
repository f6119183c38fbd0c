/**
 * Candidates: the entries that a list or a watch has to look at. One that names its object looks at that one, and one that selects
 * by an indexed field at those with its value: each node lists and watches its own Node and its own pods, and thousands of nodes
 * would look at all of them each.
 */
import { sortKey } from '../../component-base/sorted-map.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { objectKey } from '../registry/object-key.ts'
import type { Snapshot } from '../watch-cache/collection.ts'
import type { Entry } from '../watch-cache/entry.ts'
import type { SelectedValue } from '../watch-cache/watcher.ts'

export interface Wanted {
  /** '' for all, and for cluster-scoped resources. */
  readonly namespace: string
  /** Of an object; undefined for all. */
  readonly name: string | undefined
  /** A value that all of them have. */
  readonly selected: SelectedValue | undefined
  /** Where a page starts. */
  readonly start?: string
}

/** What keys start with that are of this namespace, or of all. */
export function keyPrefixOf(resource: Resource, namespace: string): string {
  return resource.namespaced && namespace !== '' ? `${namespace}/` : ''
}

/** In key order. */
export function candidatesOf(
  snapshot: Snapshot,
  resource: Resource,
  { namespace, name, selected, start = '' }: Wanted,
): Iterable<Entry> {
  if (name === undefined || (resource.namespaced && namespace === '')) {
    const prefix = keyPrefixOf(resource, namespace)
    return selected?.isIndexed === true
      ? snapshot.entriesWith(selected, prefix, start)
      : snapshot.entries(prefix, start)
  }
  const key = objectKey(resource, namespace, name)
  const entry = sortKey(key) < sortKey(start) ? undefined : snapshot.get(key)
  return entry === undefined ? [] : [entry]
}
