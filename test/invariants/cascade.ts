/**
 * No orphan stays after a cascade: an object whose owners are all gone is gone, or being deleted, some time later. Owners of kinds
 * that are not watched count as present.
 */
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { Change, Invariant } from './change.ts'
import { nameOf, uidOf } from './change.ts'

interface Owned {
  readonly change: Change
  /** When its last owner was first found missing. */
  orphanedAtMs: number | undefined
}

export function cascade(options: {
  /** Every kind whose changes are taken, so that an owner of it that is not known is gone. */
  readonly watched: readonly Pick<Resource, 'group' | 'kind'>[]
  /** How long the garbage collector may take. */
  readonly patienceMs: number
}): Invariant {
  const { watched, patienceMs } = options
  const kinds = new Set(watched.map(({ group, kind }) => `${group}/${kind}`))
  const living = new Set<string>()
  const owned = new Map<string, Owned>()
  /** Objects by the uid of each owner. */
  const dependents = new Map<string, Set<string>>()

  const isGone = ({ apiVersion, kind, uid }: { apiVersion: string; kind: string; uid: string }) => {
    const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : ''
    return kinds.has(`${group}/${kind}`) && !living.has(uid)
  }
  const isOrphan = ({ metadata }: KubeObject): boolean => {
    const owners = metadata.ownerReferences ?? []
    return owners.length > 0 && metadata.deletionTimestamp === undefined && owners.every(isGone)
  }
  const look = (uid: string, atMs: number): void => {
    const known = owned.get(uid)
    if (known === undefined) return
    known.orphanedAtMs = isOrphan(known.change.object) ? (known.orphanedAtMs ?? atMs) : undefined
  }
  const forget = (uid: string): void => {
    const owners = owned.get(uid)?.change.object.metadata.ownerReferences ?? []
    owned.delete(uid)
    for (const owner of owners) {
      const set = dependents.get(owner.uid)
      set?.delete(uid)
      if (set?.size === 0) dependents.delete(owner.uid)
    }
  }
  const keep = (change: Change): void => {
    const uid = uidOf(change.object)
    const orphanedAtMs = owned.get(uid)?.orphanedAtMs
    forget(uid)
    const owners = change.object.metadata.ownerReferences ?? []
    if (owners.length === 0) return
    owned.set(uid, { change, orphanedAtMs })
    for (const owner of owners)
      dependents.set(owner.uid, (dependents.get(owner.uid) ?? new Set()).add(uid))
    look(uid, change.atMs)
  }
  return {
    name: 'no orphan stays after a cascade',
    take: (change) => {
      const uid = uidOf(change.object)
      if (change.type === 'DELETED') {
        living.delete(uid)
        forget(uid)
        for (const one of dependents.get(uid) ?? []) look(one, change.atMs)
      } else {
        if (!living.has(uid)) {
          living.add(uid)
          for (const one of dependents.get(uid) ?? []) look(one, change.atMs)
        }
        keep(change)
      }
      return []
    },
    rest: (nowMs) =>
      [...owned.values()].flatMap(({ change, orphanedAtMs }) => {
        if (orphanedAtMs === undefined || nowMs - orphanedAtMs < patienceMs) return []
        const owners = (change.object.metadata.ownerReferences ?? [])
          .map(({ kind, name, uid }) => `${kind} ${name} (uid ${uid})`)
          .join(', ')
        const seconds = Math.round((nowMs - orphanedAtMs) / 1000)
        return [
          `${nameOf(change)} of revision ${change.object.metadata.resourceVersion} is left ${seconds} s after the end of its owner ${owners}`,
        ]
      }),
  }
}
