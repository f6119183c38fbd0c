/** A family as JSON, for scripts. Stable: fields are added, never changed. */
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { AnyCondition } from '../../cluster/why/evidence.ts'
import { conditionsOf } from '../../cluster/why/kinds/any-object.ts'
import type { Member } from './family.ts'
import { objectState, type ObjectState } from './object-state.ts'
import type { Family } from './read-family.ts'

interface MemberJson {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  readonly uid: string
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly finalizers?: readonly string[]
  readonly state: ObjectState
  readonly conditions: readonly AnyCondition[]
  /** What it owns stands at its first place in the tree. */
  readonly isRepeated?: true
  readonly owns: readonly MemberJson[]
}

interface FamilyJson {
  readonly roots: readonly MemberJson[]
  readonly notRead: readonly string[]
}

/** Without fields that the object does not have. */
function metadataOf({ metadata }: KubeObject) {
  const { namespace, creationTimestamp, deletionTimestamp, finalizers } = metadata
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(creationTimestamp ? { creationTimestamp } : {}),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(finalizers === undefined ? {} : { finalizers }),
  }
}

function memberJson({ object, owns, isRepeated }: Member): MemberJson {
  return {
    apiVersion: object.apiVersion ?? '',
    kind: object.kind ?? '',
    name: object.metadata.name ?? '',
    uid: object.metadata.uid ?? '',
    ...metadataOf(object),
    state: objectState(object),
    conditions: conditionsOf(object),
    ...(isRepeated ? { isRepeated } : {}),
    owns: owns.map(memberJson),
  }
}

export function familyJson({ roots, notRead }: Family): FamilyJson {
  return { roots: roots.map(memberJson), notRead }
}
