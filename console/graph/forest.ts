/** Forest: boxes below boxes, and how a family becomes one. Pure. Without ages and times, so that the same objects give the same diagram. */
import type { Member } from '../family/family.ts'
import { memberName } from '../family/family-text.ts'
import { objectState, type Health } from '../family/object-state.ts'

export interface ForestBox {
  /** The first line is its name. */
  readonly lines: readonly string[]
  readonly health: Health
  readonly below: readonly ForestBox[]
}

function boxOf({ object, owns, isRepeated }: Member, namespace: string): ForestBox {
  const { health, text } = objectState(object)
  const isDeleted = object.metadata.deletionTimestamp !== undefined
  const state = isDeleted ? 'is being deleted' : isRepeated ? 'see above' : text
  return {
    lines: [memberName(object, namespace), ...(state === '' ? [] : [state])],
    health: isDeleted ? 'waiting' : health,
    below: owns.map((one) => boxOf(one, namespace)),
  }
}

export function familyForest(members: readonly Member[], namespace: string): ForestBox[] {
  return members.map((member) => boxOf(member, namespace))
}
