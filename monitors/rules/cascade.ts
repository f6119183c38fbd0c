/**
 * No orphan stays after a cascade: an object whose owners are all gone is gone, or being deleted, some time later. Owners of kinds
 * that are not watched count as present.
 */
import type { KubeObject, OwnerReference } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { Change } from '../change.ts'
import { nameOf, uidOf } from '../change.ts'
import { findingOf, type Finding, type Rule } from '../monitor.ts'

interface Owned {
  readonly change: Change
  /** When its last owner was first found missing. */
  orphanedAtMs: number | undefined
  isReported: boolean
}

/** Objects by the uid of each owner. */
function createDependents() {
  const byOwner = new Map<string, Set<string>>()
  const ownersOf = ({ metadata }: KubeObject): string[] =>
    (metadata.ownerReferences ?? []).map(({ uid }) => uid)
  return {
    of: (uid: string): Iterable<string> => byOwner.get(uid) ?? [],
    add: (object: KubeObject): void => {
      for (const owner of ownersOf(object))
        byOwner.set(owner, (byOwner.get(owner) ?? new Set()).add(uidOf(object)))
    },
    remove: (object: KubeObject): void => {
      for (const owner of ownersOf(object)) {
        const set = byOwner.get(owner)
        set?.delete(uidOf(object))
        if (set?.size === 0) byOwner.delete(owner)
      }
    },
  }
}

function orphanOf(change: Change, leftMs: number): Finding {
  const { ownerReferences = [], resourceVersion } = change.object.metadata
  const owners = ownerReferences.map(({ kind, name, uid }) => `${kind} ${name} (uid ${uid})`)
  const seconds = Math.round(leftMs / 1000)
  const text = `${nameOf(change)} of revision ${resourceVersion} is left ${seconds} s after the end of its owner ${owners.join(', ')}`
  return findingOf(change, text)
}

export function cascade(options: {
  /** Every kind whose changes are taken, so that an owner of it that is not known is gone. */
  readonly watched: () => readonly Pick<Resource, 'group' | 'kind'>[]
  /** How long the garbage collector may take. */
  readonly patienceMs: number
}): Required<Pick<Rule, 'take' | 'rest'>> {
  const { watched, patienceMs } = options
  const living = new Set<string>()
  const owned = new Map<string, Owned>()
  const dependents = createDependents()

  const isGone = ({ apiVersion, kind, uid }: OwnerReference): boolean => {
    const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : ''
    return !living.has(uid) && watched().some((one) => one.group === group && one.kind === kind)
  }
  const isOrphan = ({ metadata }: KubeObject): boolean => {
    const owners = metadata.ownerReferences ?? []
    return owners.length > 0 && metadata.deletionTimestamp === undefined && owners.every(isGone)
  }
  const look = (uid: string, atMs: number): void => {
    const known = owned.get(uid)
    if (known === undefined) return
    const { object } = known.change
    known.orphanedAtMs = isOrphan(object) ? (known.orphanedAtMs ?? atMs) : undefined
    if (known.orphanedAtMs === undefined) known.isReported = false
  }
  const forget = (uid: string): void => {
    const known = owned.get(uid)
    if (known !== undefined) dependents.remove(known.change.object)
    owned.delete(uid)
  }
  const keep = (change: Change): void => {
    const uid = uidOf(change.object)
    const { orphanedAtMs, isReported = false } = owned.get(uid) ?? {}
    forget(uid)
    if ((change.object.metadata.ownerReferences ?? []).length === 0) return
    owned.set(uid, { change, orphanedAtMs, isReported })
    dependents.add(change.object)
    look(uid, change.atMs)
  }
  return {
    take: (change) => {
      const uid = uidOf(change.object)
      const isOver = change.type === 'DELETED'
      const isNews = isOver || !living.has(uid)
      if (isOver) living.delete(uid)
      else living.add(uid)
      if (isNews) for (const one of dependents.of(uid)) look(one, change.atMs)
      if (isOver) forget(uid)
      else keep(change)
      return []
    },
    rest: (nowMs) =>
      [...owned.values()].flatMap((one): Finding[] => {
        const { change, orphanedAtMs, isReported } = one
        if (orphanedAtMs === undefined || isReported) return []
        if (nowMs - orphanedAtMs < patienceMs) return []
        one.isReported = true
        return [orphanOf(change, nowMs - orphanedAtMs)]
      }),
  }
}
