/**
 * Merge, remove and list the fields of applied configurations (upstream: structured-merge-diff typed/merge.go, remove.go,
 * tofieldset.go). Does not modify inputs; results share parts with them.
 */
import { elementOf } from './apply-compare.ts'
import { childShape, isFreeLeaf, isRecord, type ApplyShape } from './apply-shape.ts'
import { compareElements, fieldElement, inElementOrder } from './field-elements.ts'
import { emptySet, hasElement, isEmptySet, type FieldSet } from './field-set.ts'
import { setOwn } from '../values/json-copy.ts'
import { deepEqual } from '../objects/object.ts'

const setItem: ApplyShape = { kind: 'leaf' }

type Items = Extract<ApplyShape, { kind: 'list' | 'set' }>

/** The live value merged with the configuration. Fields that the configuration omits stay. Undefined is absent. */
export function mergeFields(shape: ApplyShape, live: unknown, config: unknown): unknown {
  if (config === undefined) return live
  if (live === undefined) return config
  switch (shape.kind) {
    case 'leaf':
      return keptIfEqual(live, config)
    case 'list':
    case 'set': {
      const left = Array.isArray(live) ? live : []
      const right = Array.isArray(config) ? config : []
      if (left.length === 0 && right.length === 0) return keptIfEqual(live, config)
      const items = mergeItems(shape, left, right)
      const isSame =
        items.length === left.length && items.every((item, index) => item === left[index])
      return isSame ? live : items
    }
    default: {
      const isLeaf = shape.kind === 'free' && (isFreeLeaf(live) || isFreeLeaf(config))
      if (isLeaf) return keptIfEqual(live, config)
      const left = isRecord(live) ? live : {}
      const right = isRecord(config) ? config : {}
      if (isEmptySet(left as FieldSet) && isEmptySet(right as FieldSet)) {
        return keptIfEqual(live, config)
      }
      const merged = mergeRecords(shape, left, right)
      return merged === left ? live : merged
    }
  }
}

/** Returns the live value itself if nothing changes, so that compare can skip it. */
function keptIfEqual(live: unknown, config: unknown): unknown {
  return deepEqual(live, config) ? live : config
}

function mergeRecords(
  shape: Exclude<ApplyShape, { kind: 'leaf' | 'list' | 'set' }>,
  left: Record<string, unknown>,
  right: Record<string, unknown>,
): Record<string, unknown> {
  let isSame = true
  const merged: Record<string, unknown> = {}
  for (const name of Object.keys(left)) {
    const before = left[name]
    const after = Object.hasOwn(right, name) ? right[name] : undefined
    const value = mergeFields(childShape(shape, name), before, after)
    if (value !== before) isSame = false
    if (value !== undefined) setOwn(merged, name, value)
  }
  for (const name of Object.keys(right)) {
    const value = right[name]
    if (value === undefined || (Object.hasOwn(left, name) && left[name] !== undefined)) continue
    isSame = false
    setOwn(merged, name, value)
  }
  return isSame ? left : merged
}

/**
 * The union of both lists: the configuration's items in its order, with the other live items at their places between them.
 * A repeated live item stays repeated unless the configuration has it.
 */
function mergeItems(shape: Items, live: readonly unknown[], config: readonly unknown[]): unknown[] {
  const liveElements = live.map((item) => elementOf(shape, item))
  const configElements = config.map((item) => elementOf(shape, item))
  const configAt = new Map(configElements.map((element, index) => [element, index]))
  const liveAt = new Map<string, number | undefined>()
  for (const [index, element] of liveElements.entries()) {
    // The configuration's item replaces repeated live items.
    liveAt.set(element, liveAt.has(element) ? undefined : index)
  }
  const shared = configElements.filter((element) => liveAt.has(element))
  let nextShared = 0
  const items: unknown[] = []
  let l = 0
  let c = 0
  const take = (): void => {
    const element = configElements[c] as string
    const at = liveAt.get(element)
    const before = at === undefined ? undefined : live[at]
    items.push(mergeFields(shape.kind === 'set' ? setItem : shape.items, before, config[c]))
    if (shared[nextShared] === element) nextShared += 1
    c += 1
  }
  while (l < live.length || c < config.length) {
    const element = liveElements[l]
    const place = element === undefined ? undefined : configAt.get(element)
    if (element !== undefined && place === undefined) {
      items.push(live[l])
      l += 1
    } else if (element !== undefined && place === c) {
      take()
      l += 1
    } else if (
      element !== undefined &&
      c < config.length &&
      nextShared < shared.length &&
      element !== shared[nextShared]
    ) {
      // Its place is the configuration's.
      l += 1
    } else {
      if (place !== undefined && place < c) l += 1
      if (c < config.length) take()
    }
  }
  return items
}

/** The value without the members of `gone`; undefined if nothing is left, in which case the parent holds null. */
export function removeFields(shape: ApplyShape, value: unknown, gone: FieldSet): unknown {
  if (shape.kind === 'leaf') return value
  if (shape.kind === 'list' || shape.kind === 'set') {
    if (!Array.isArray(value)) return undefined
    const items: unknown[] = []
    for (const item of value as readonly unknown[]) {
      const element = elementOf(shape, item)
      if (hasElement(gone, element)) continue
      const below = gone[element]
      const isKept = below === undefined || shape.kind === 'set'
      items.push(isKept ? item : (removeFields(shape.items, item, below) ?? null))
    }
    return items.length === 0 ? undefined : items
  }
  if (!isRecord(value)) return shape.kind === 'free' ? value : undefined
  const rest: Record<string, unknown> = {}
  for (const name of Object.keys(value)) {
    const element = fieldElement(name)
    if (hasElement(gone, element)) continue
    const below = gone[element]
    const child = value[name]
    const left = below === undefined ? child : removeFields(childShape(shape, name), child, below)
    setOwn(rest, name, left ?? null)
  }
  return isEmptySet(rest as FieldSet) ? undefined : rest
}

/** The fields of a configuration, which its applier owns, in order. */
export function fieldsOf(shape: ApplyShape, value: unknown): FieldSet {
  return listFields(shape, value) ?? emptySet
}

/** The node of a value: undefined if no field below it is owned, empty if it is atomic. */
function listFields(shape: ApplyShape, value: unknown): FieldSet | undefined {
  if (shape.kind === 'leaf') return emptySet
  if (shape.kind === 'list' || shape.kind === 'set') {
    if (!Array.isArray(value)) return undefined
    const items = new Map<string, FieldSet>()
    for (const item of value as readonly unknown[]) {
      const element = elementOf(shape, item)
      // Repeated items are owned as one.
      const isOne = shape.kind === 'set' || items.has(element)
      items.set(element, memberNode(isOne ? undefined : listFields(shape.items, item)))
    }
    return nodeInOrder(items)
  }
  if (!isRecord(value)) return shape.kind === 'free' ? emptySet : undefined
  const children = new Map<string, FieldSet>()
  for (const name of Object.keys(value)) {
    const child = value[name]
    const isNothing = child === null || (isRecord(child) && isEmptySet(child as FieldSet))
    const isKey = shape.kind !== 'struct' || shape.field(name) === undefined
    const inner = listFields(childShape(shape, name), child)
    const node = isNothing || isKey ? memberNode(inner) : inner
    if (node !== undefined) children.set(fieldElement(name), node)
  }
  return nodeInOrder(children)
}

function memberNode(inner: FieldSet | undefined): FieldSet {
  if (inner === undefined || isEmptySet(inner)) return emptySet
  return inner['.'] === undefined ? { '.': emptySet, ...inner } : inner
}

function nodeInOrder(children: ReadonlyMap<string, FieldSet>): FieldSet | undefined {
  if (children.size === 0) return undefined
  let last = ''
  let isSorted = true
  for (const element of children.keys()) {
    if (last !== '' && compareElements(last, element) > 0) isSorted = false
    if (!isSorted) break
    last = element
  }
  const node: Record<string, FieldSet> = {}
  const elements = isSorted ? children.keys() : inElementOrder([...children.keys()])
  for (const element of elements) node[element] = children.get(element) ?? emptySet
  return node
}

/**
 * The set with every field that has an owned member. Sets do not list such parent fields, which are removed with their last
 * member; they list owned keys of maps and elements of lists.
 */
export function withNamedFields(shape: ApplyShape, set: FieldSet): FieldSet {
  const all: Record<string, FieldSet> = {}
  for (const key in set) {
    const child = set[key] as FieldSet
    if (key === '.' || isEmptySet(child)) {
      all[key] = child
      continue
    }
    const inner = elementShape(shape, key)
    const deep = inner === undefined ? child : withNamedFields(inner, child)
    const isNamed =
      shape.kind === 'struct' && key.startsWith('f:') && shape.field(key.slice(2)) !== undefined
    all[key] = isNamed && deep['.'] === undefined ? { '.': {}, ...deep } : deep
  }
  return all
}

function elementShape(shape: ApplyShape, element: string): ApplyShape | undefined {
  if (shape.kind === 'list') return shape.items
  if (shape.kind === 'leaf' || shape.kind === 'set') return undefined
  return childShape(shape, element.slice(2))
}
