/** WatchTracker: how many watches a write has to notify, by kind, namespace and name (upstream: flowcontrol/watch_tracker.go). */
import { exactFieldMatch, parseFieldSelector } from '../../machinery/selectors/field-selector.ts'
import type { RequestInfo } from '../request/request.ts'

/** The watches of one kind by what they are limited to: `''`, `namespace/` or `namespace/name`. */
type KindWatches = Map<string, number>

/** Watches that select one value of the field are found by it, so that a write notifies few of them. */
const indexedField: Readonly<Record<string, string>> = { pods: 'spec.nodeName' }

/** The value that the request's field selector demands of a field. An invalid selector demands none: it is rejected later. */
export function demandedField({ query }: Pick<RequestInfo, 'query'>, field: string): string {
  const selector = query.get('fieldSelector')
  if (selector === null || selector === '') return ''
  try {
    return exactFieldMatch(parseFieldSelector(selector), field) ?? ''
  } catch {
    return ''
  }
}

/** The name in the path, or the one that the field selector demands. */
export function namedBy(info: Pick<RequestInfo, 'name' | 'query'>): string {
  return info.name === '' ? demandedField(info, 'metadata.name') : info.name
}

function placeOf(namespace: string, name: string): string {
  return namespace === '' && name === '' ? '' : `${namespace}/${name}`
}

export class WatchTracker {
  readonly #byGroup = new Map<string, Map<string, KindWatches>>()

  /** Counts a watch until the returned function is called. Further calls do nothing. */
  register(info: RequestInfo): () => void {
    const { group, plural, namespace } = info
    const field = indexedField[plural]
    if (field !== undefined && demandedField(info, field) !== '') return () => {}
    const place = placeOf(namespace, namedBy(info))
    this.#add({ group, plural }, place, 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#add({ group, plural }, place, -1)
    }
  }

  #add({ group, plural }: { group: string; plural: string }, place: string, by: number): void {
    const kinds = this.#byGroup.get(group) ?? new Map<string, KindWatches>()
    const watches = kinds.get(plural) ?? new Map<string, number>()
    const count = (watches.get(place) ?? 0) + by
    if (count > 0) watches.set(place, count)
    else watches.delete(place)
    if (watches.size > 0) kinds.set(plural, watches)
    else kinds.delete(plural)
    if (kinds.size > 0) this.#byGroup.set(group, kinds)
    else this.#byGroup.delete(group)
  }

  /** The watches that may be interested in what the request writes. */
  interested({ group, plural, namespace, name }: RequestInfo): number {
    const watches = this.#byGroup.get(group)?.get(plural)
    if (watches === undefined) return 0
    let count = watches.get('') ?? 0
    if (namespace !== '') count += watches.get(placeOf(namespace, '')) ?? 0
    if (name !== '') count += watches.get(placeOf(namespace, name)) ?? 0
    return count
  }
}
