/** Reconcile: field sets after a change of their schema (upstream: structured-merge-diff typed/reconcile_schema.go). */
import type { ApplyShape } from './apply-shape.ts'
import { emptySet, isEmptySet, type FieldSet } from './field-set.ts'

/**
 * The set for the new shape: the owner of a part of a field that is now atomic owns the whole field. Fields that became
 * granular, and unknown names, stay. Returns the same set if nothing changes.
 */
export function reconciledFields(shape: ApplyShape, set: FieldSet): FieldSet {
  if (shape.kind === 'leaf') return shape.isAtomic === true && !isEmptySet(set) ? emptySet : set
  if (shape.kind === 'set' || shape.kind === 'free') return set
  let changed: Record<string, FieldSet> | undefined
  for (const element in set) {
    const below = set[element] as FieldSet
    const inner = element === '.' || isEmptySet(below) ? undefined : shapeBelow(shape, element)
    const after = inner === undefined ? below : reconciledFields(inner, below)
    if (after !== below) (changed ??= { ...set })[element] = after
  }
  return changed ?? set
}

function shapeBelow(
  shape: Exclude<ApplyShape, { kind: 'leaf' | 'set' | 'free' }>,
  element: string,
): ApplyShape | undefined {
  if (shape.kind === 'list') return shape.items
  if (shape.kind === 'map') return shape.values
  return element.startsWith('f:') ? shape.field(element.slice(2)) : undefined
}
