/** Family: objects as trees by their owner references. Pure; bounded in depth, and safe with cycles. */
import type { KubeObject } from '../../components/machinery/objects/object.ts'

export interface Member {
  readonly object: KubeObject
  /** By kind, namespace and name. */
  readonly owns: readonly Member[]
  /** It has several owners and stands in the tree already, with what it owns. */
  readonly isRepeated: boolean
}

/** Chains of owners in real clusters have four links. */
const mostDepth = 64

const text = ({ kind = '', metadata }: KubeObject): string =>
  [kind, metadata.namespace ?? '', metadata.name ?? ''].join('\u0000')

/** The order of objects everywhere: by kind, namespace and name, code unit by code unit. */
export function byName(a: KubeObject, b: KubeObject): number {
  const [left, right] = [text(a), text(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

const uidOf = ({ metadata }: KubeObject): string => metadata.uid ?? ''

/** Owner's uid -> what it owns, sorted. */
export function indexByOwner(
  objects: Iterable<KubeObject>,
): ReadonlyMap<string, readonly KubeObject[]> {
  const index = new Map<string, KubeObject[]>()
  for (const object of objects) {
    const owners = new Set((object.metadata.ownerReferences ?? []).map(({ uid }) => uid))
    for (const uid of owners) {
      const owned = index.get(uid)
      if (owned === undefined) index.set(uid, [object])
      else owned.push(object)
    }
  }
  for (const owned of index.values()) owned.sort(byName)
  return index
}

/** All that the object owns, directly or not, and the object itself. */
export function descendantsOf(
  object: KubeObject,
  index: ReadonlyMap<string, readonly KubeObject[]>,
): KubeObject[] {
  const found = new Map([[uidOf(object), object]])
  // A Map also visits what is added during the visit.
  for (const uid of found.keys())
    for (const owned of index.get(uid) ?? [])
      if (!found.has(uidOf(owned))) found.set(uidOf(owned), owned)
  return [...found.values()]
}

/** Objects without an owner among the objects; of owners in a circle, the first by name. */
export function rootsOf(objects: readonly KubeObject[]): KubeObject[] {
  const index = indexByOwner(objects)
  const uids = new Set(objects.map(uidOf))
  const sorted = objects.toSorted(byName)
  const roots = sorted.filter(
    ({ metadata }) => !(metadata.ownerReferences ?? []).some(({ uid }) => uids.has(uid)),
  )
  const reached = new Set<string>()
  const reach = (root: KubeObject): void => {
    const pending = [root]
    for (let one = pending.pop(); one !== undefined; one = pending.pop()) {
      if (reached.has(uidOf(one))) continue
      reached.add(uidOf(one))
      pending.push(...(index.get(uidOf(one)) ?? []))
    }
  }
  for (const root of roots) reach(root)
  for (const object of sorted) {
    if (reached.has(uidOf(object))) continue
    roots.push(object)
    reach(object)
  }
  return roots.toSorted(byName)
}

/** The trees below the roots, with at most `most` members. `isWhole` is false when there are more, or they lie deeper than 64 levels. */
export function growFamily(
  roots: readonly KubeObject[],
  objects: Iterable<KubeObject>,
  most: number,
): { readonly roots: readonly Member[]; readonly isWhole: boolean } {
  const index = indexByOwner(objects)
  const shown = new Set<string>()
  let left = most
  let isWhole = true
  const grow = (object: KubeObject, depth: number): Member | undefined => {
    if (left === 0 || depth === mostDepth) {
      isWhole = false
      return undefined
    }
    left -= 1
    const uid = uidOf(object)
    const owned = index.get(uid) ?? []
    const isRepeated = shown.has(uid)
    shown.add(uid)
    if (isRepeated) return { object, owns: [], isRepeated: owned.length > 0 }
    const owns = owned.flatMap((one) => grow(one, depth + 1) ?? [])
    return { object, owns, isRepeated: false }
  }
  return { roots: roots.flatMap((root) => grow(root, 0) ?? []), isWhole }
}

/** Each object of the trees once. */
export function objectsIn(members: readonly Member[]): KubeObject[] {
  const found = new Map<string, KubeObject>()
  const visit = ({ object, owns }: Member): void => {
    found.set(uidOf(object), object)
    owns.forEach(visit)
  }
  members.forEach(visit)
  return [...found.values()]
}
