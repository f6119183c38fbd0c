/** Compare: which fields differ between two states of an object (upstream: structured-merge-diff typed/compare.go). */
import { childShape, isFreeLeaf, isRecord, type ApplyShape } from './apply-shape.ts'
import { fieldElement, itemElement, setElement } from './field-elements.ts'
import { FieldSetBuilder, isEmptySet, type FieldSet } from './field-set.ts'
import { deepEqual } from '../objects/object.ts'
import type { Steps } from '../values/steps.ts'

export interface Comparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

interface Walk {
  readonly added: FieldSetBuilder
  readonly modified: FieldSetBuilder
  readonly removed: FieldSetBuilder
  readonly path: string[]
}

/** The changes from `before` to `after`. Skips parts that are the same value in both. */
export function* compareFields(
  shape: ApplyShape,
  before: unknown,
  after: unknown,
): Steps<Comparison> {
  const walk: Walk = {
    added: new FieldSetBuilder(),
    modified: new FieldSetBuilder(),
    removed: new FieldSetBuilder(),
    path: [],
  }
  visit(shape, { before, after, depth: 0 }, walk)
  yield
  const added = walk.added.set
  yield
  const modified = walk.modified.set
  yield
  return { added, modified, removed: walk.removed.set }
}

/** Undefined is absent, null is a value. */
interface Sides {
  readonly before: unknown
  readonly after: unknown
  /** The length of the path in use. */
  readonly depth: number
}

function visit(shape: ApplyShape, sides: Sides, walk: Walk): void {
  const { before, after } = sides
  if (before === after) return
  if (shape.kind === 'leaf') {
    visitLeaf(sides, walk)
    return
  }
  if (shape.kind === 'free' && (isFreeLeaf(before) || isFreeLeaf(after))) {
    visitFreeLeaf(sides, walk)
    return
  }
  if (shape.kind === 'list' || shape.kind === 'set') {
    const left = Array.isArray(before) ? before : []
    const right = Array.isArray(after) ? after : []
    if (left.length === 0 && right.length === 0) {
      visitLeaf(sides, walk)
      return
    }
    visitItems(shape, { left, right, depth: sides.depth }, walk)
  } else {
    const left = isRecord(before) ? before : {}
    const right = isRecord(after) ? after : {}
    if (isEmptySet(left as FieldSet) && isEmptySet(right as FieldSet)) {
      visitLeaf(sides, walk)
      return
    }
    visitFields(shape, { left, right, depth: sides.depth }, walk)
  }
  if (before === undefined) walk.added.insert(walk.path, sides.depth)
  else if (after === undefined) walk.removed.insert(walk.path, sides.depth)
}

function visitLeaf({ before, after, depth }: Sides, walk: Walk): void {
  if (before === undefined) walk.added.insert(walk.path, depth)
  else if (after === undefined) walk.removed.insert(walk.path, depth)
  else if (!deepEqual(before, after)) walk.modified.insert(walk.path, depth)
}

/** Where one side is atomic, the whole field changes; the members of the other side are added or removed with it. */
function visitFreeLeaf(sides: Sides, walk: Walk): void {
  const { before, after, depth } = sides
  visitLeaf(sides, walk)
  if (before === undefined || after === undefined) return
  const left = isRecord(before) ? before : {}
  const right = isRecord(after) ? after : {}
  visitFields({ kind: 'free' }, { left, right, depth }, walk)
}

function visitFields(
  shape: Exclude<ApplyShape, { kind: 'leaf' | 'list' | 'set' }>,
  sides: { left: Record<string, unknown>; right: Record<string, unknown>; depth: number },
  walk: Walk,
): void {
  const { left, right, depth } = sides
  for (const name in left) {
    const before = left[name]
    const after = Object.hasOwn(right, name) ? right[name] : undefined
    if (before === after) continue
    walk.path[depth] = fieldElement(name)
    visit(childShape(shape, name), { before, after, depth: depth + 1 }, walk)
  }
  for (const name in right) {
    if (right[name] === undefined || (Object.hasOwn(left, name) && left[name] !== undefined)) {
      continue
    }
    walk.path[depth] = fieldElement(name)
    visit(
      childShape(shape, name),
      { before: undefined, after: right[name], depth: depth + 1 },
      walk,
    )
  }
}

type Items = Extract<ApplyShape, { kind: 'list' | 'set' }>

/** The items of a list, by element. */
interface Index {
  /** The first item of each element. */
  readonly items: Map<string, unknown>
  /** All items of repeated elements. */
  repeated: Map<string, unknown[]> | undefined
}

function indexed(shape: Items, list: readonly unknown[]): Index {
  const index: Index = { items: new Map(), repeated: undefined }
  const { items } = index
  for (const item of list) {
    const element = elementOf(shape, item)
    if (!items.has(element)) {
      items.set(element, item)
      continue
    }
    index.repeated ??= new Map()
    const same = index.repeated.get(element)
    if (same === undefined) index.repeated.set(element, [items.get(element), item])
    else same.push(item)
  }
  return index
}

/** The element of a list item. An item of the wrong type counts as one without keys, regardless of defaults. */
export function elementOf(shape: Items, item: unknown): string {
  if (shape.kind === 'set') return setElement(item)
  return isRecord(item) ? itemElement(item, shape.keys) : itemElement({}, [])
}

function visitItems(
  shape: Items,
  sides: { left: readonly unknown[]; right: readonly unknown[]; depth: number },
  walk: Walk,
): void {
  const before = indexed(shape, sides.left)
  const after = indexed(shape, sides.right)
  const depth = sides.depth + 1
  const visitItem = (element: string): void => {
    const left = before.repeated?.get(element)
    const right = after.repeated?.get(element)
    const one = { before: before.items.get(element), after: after.items.get(element), depth }
    walk.path[sides.depth] = element
    if (left === undefined && right === undefined) compareItem(shape, one, walk)
    else if (left !== undefined && right !== undefined) {
      if (!deepEqual(left, right)) walk.modified.insert(walk.path, depth)
    } else if (left !== undefined) {
      // Repeated items are owned as one; a single remaining item is new.
      if (one.after !== undefined) compareItem(shape, { ...one, before: undefined }, walk)
      walk.path[sides.depth] = element
      walk.removed.insert(walk.path, depth)
    } else {
      if (one.before !== undefined) compareItem(shape, { ...one, after: undefined }, walk)
      walk.path[sides.depth] = element
      walk.added.insert(walk.path, depth)
    }
  }
  for (const element of before.items.keys()) visitItem(element)
  for (const element of after.items.keys()) if (!before.items.has(element)) visitItem(element)
}

function compareItem(shape: Items, sides: Sides, walk: Walk): void {
  if (shape.kind === 'set') visitLeaf(sides, walk)
  else visit(shape.items, sides, walk)
}
