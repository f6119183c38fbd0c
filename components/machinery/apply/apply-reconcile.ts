/** Reconcile: owned fields after a change of the schema they were owned by (upstream: structured-merge-diff typed/reconcile_schema.go). */
import type { ApplyShape } from './apply-shape.ts'
import { emptySet, isEmptySet, type FieldSet } from './field-set.ts'

/**
 * The set as of that shape: who owned a part of what has become atomic owns all of it. What has become granular, and names
 * that the schema does not know, stay as they are. The same set when nothing changes.
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
