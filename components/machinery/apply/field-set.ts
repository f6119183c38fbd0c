/**
 * Field sets: the fields that one manager owns, as the tree of `fieldsV1`. A node without children is a member of the set; a
 * node with children is a member if it has the key `.`. Sets are immutable and share parts.
 */
import { canonicalElement, compareElements, inElementOrder } from './field-elements.ts'

export interface FieldSet {
  readonly [element: string]: FieldSet
}

interface Draft {
  [element: string]: Draft
}

const self = '.'
const leaf: FieldSet = Object.freeze({})

/** The empty set. A root without keys has no members. */
export const emptySet: FieldSet = leaf

/** Nodes with this many children are wide. */
const wideFrom = 256

/** Wide nodes, which are not empty. Checking that with `for in` takes time proportional to their width. */
const wide = new WeakSet<FieldSet>()

export function isEmptySet(set: FieldSet): boolean {
  if (wide.has(set)) return false
  for (const _ in set) return false
  return true
}

/** True when the path to this node, which is not the root, is in the set. */
function isMember(node: FieldSet): boolean {
  return node[self] !== undefined || isEmptySet(node)
}

/** A node to add children to; a member has `.` first. */
function begun(member: boolean): Draft {
  return member ? { [self]: leaf as Draft } : {}
}

/** Finishes a node with that many children; undefined if it is empty. */
function nodeOf(member: boolean, node: Draft, childCount: number): FieldSet | undefined {
  if (childCount === 0) return member ? leaf : undefined
  if (childCount > wideFrom) wide.add(node)
  return node
}

/** The union; `a` itself if `b` adds nothing. */
export function unionOf(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a)) return inOrder(b)
  if (isEmptySet(b)) return a
  return merged(a, b, false)
}

function unionNode(a: FieldSet, b: FieldSet): FieldSet {
  return a === b ? a : merged(a, b, isMember(a) || isMember(b))
}

function merged(a: FieldSet, b: FieldSet, member: boolean): FieldSet {
  let changes: Map<string, FieldSet> | undefined
  for (const key in b) {
    if (key === self) continue
    const mine = a[key]
    const theirs = b[key] as FieldSet
    const both = mine === undefined ? inOrder(theirs) : unionNode(mine, theirs)
    if (both === mine) continue
    changes ??= new Map()
    changes.set(key, both)
  }
  if (changes === undefined) {
    return member && a[self] === undefined && !isEmptySet(a) ? { [self]: leaf, ...a } : a
  }
  const keys = Object.keys(a).filter((key) => key !== self)
  for (const key of changes.keys()) if (a[key] === undefined) keys.push(key)
  const all = begun(member)
  for (const key of sortedKeys(keys)) all[key] = (changes.get(key) ?? a[key]) as Draft
  if (keys.length > wideFrom) wide.add(all)
  return all
}

/** The union of all sets in one pass, in time proportional to their total size. */
export function unionOfAll(sets: readonly FieldSet[]): FieldSet {
  const [first = emptySet, second] = sets
  if (second === undefined) return inOrder(first)
  const { [self]: _, ...all } = unionOfNodes(sets)
  return all
}

function unionOfNodes(nodes: readonly FieldSet[]): FieldSet {
  const [first = leaf] = nodes
  if (nodes.length === 1) return inOrder(first)
  const below = new Map<string, FieldSet[]>()
  for (const node of nodes) {
    for (const key in node) {
      if (key === self) continue
      const child = node[key] as FieldSet
      const same = below.get(key)
      if (same === undefined) below.set(key, [child])
      else same.push(child)
    }
  }
  const member = nodes.some(isMember)
  const children = begun(member)
  for (const [key, parts] of below) children[key] = unionOfNodes(parts) as Draft
  return sortedNode((nodeOf(member, children, below.size) ?? leaf) as Draft)
}

/** Sorts a node that was built in any order. */
function inOrder(node: FieldSet): FieldSet {
  let changes: Draft | undefined
  for (const key in node) {
    const child = node[key] as FieldSet
    if (child === leaf) continue
    const ordered = inOrder(child)
    if (ordered === child) continue
    changes ??= {}
    changes[key] = ordered as Draft
  }
  return sortedNode((changes === undefined ? node : { ...node, ...changes }) as Draft)
}

function sortedKeys(keys: readonly string[]): readonly string[] {
  const isSorted = keys.every(
    (key, index) => index === 0 || compareElements(keys[index - 1] as string, key) < 0,
  )
  return isSorted ? keys : inElementOrder(keys)
}

function sortedNode(node: Draft): FieldSet {
  let last: string | undefined
  let isSorted = true
  let count = 0
  for (const key in node) {
    count += 1
    if (last !== undefined && (key === self || (last !== self && compareElements(last, key) > 0))) {
      isSorted = false
      break
    }
    last = key
  }
  if (isSorted) {
    if (count > wideFrom) wide.add(node)
    return node
  }
  const keys = inElementOrder(Object.keys(node).filter((key) => key !== self))
  const sorted: Draft = {}
  if (node[self] !== undefined) sorted[self] = {}
  for (const key of keys) sorted[key] = node[key] as Draft
  if (keys.length > wideFrom) wide.add(sorted)
  return sorted
}

/** `a` without the members of `b`, but with fields below them. `a` itself if nothing is removed. */
export function differenceOf(a: FieldSet, b: FieldSet): FieldSet {
  return without(a, b, { isRoot: true, isDeep: false }) ?? emptySet
}

/** `a` without the members of `b` and all fields below them. */
export function deepDifferenceOf(a: FieldSet, b: FieldSet): FieldSet {
  return without(a, b, { isRoot: true, isDeep: true }) ?? emptySet
}

function without(
  a: FieldSet,
  b: FieldSet,
  how: { isRoot: boolean; isDeep: boolean },
): FieldSet | undefined {
  const wasMember = !how.isRoot && isMember(a)
  const isTaken = !how.isRoot && (wasMember || how.isDeep) && isMember(b)
  if (how.isDeep && isTaken) return undefined
  const below = { isRoot: false, isDeep: how.isDeep }
  const children = begun(wasMember && !isTaken)
  let count = 0
  let isSame = !(wasMember && isTaken)
  for (const key in a) {
    if (key === self) continue
    const mine = a[key] as FieldSet
    const theirs = b[key]
    const rest = theirs === undefined ? mine : without(mine, theirs, below)
    if (rest !== mine) isSame = false
    if (rest === undefined) continue
    children[key] = rest as Draft
    count += 1
  }
  return isSame ? a : nodeOf(wasMember && !isTaken, children, count)
}

/** The intersection. */
export function intersectionOf(a: FieldSet, b: FieldSet): FieldSet {
  return common(a, b, true) ?? emptySet
}

function common(a: FieldSet, b: FieldSet, isRoot: boolean): FieldSet | undefined {
  const member = !isRoot && isMember(a) && isMember(b)
  const children = begun(member)
  let count = 0
  for (const key in a) {
    const theirs = key === self ? undefined : b[key]
    const both = theirs === undefined ? undefined : common(a[key] as FieldSet, theirs, false)
    if (both === undefined) continue
    children[key] = both as Draft
    count += 1
  }
  return nodeOf(member, children, count)
}

/** The part of the set at or below paths that match these patterns, where `*` is any one element. */
export function partOf(set: FieldSet, patterns: readonly (readonly string[])[]): FieldSet {
  const part: Draft = {}
  for (const key in set) {
    const below = patterns.filter(([first]) => first === key || first === '*')
    if (below.length === 0) continue
    const child = set[key] as FieldSet
    const isWhole = below.some((pattern) => pattern.length === 1)
    const inner = isWhole
      ? child
      : partOf(
          child,
          below.map((pattern) => pattern.slice(1)),
        )
    if (isWhole || !isEmptySet(inner)) part[key] = inner as Draft
  }
  return part
}

/** True when the path is a member. */
export function hasPath(set: FieldSet, path: readonly string[]): boolean {
  let node: FieldSet | undefined = set
  for (const element of path) node = node?.[element]
  return node !== undefined && path.length > 0 && isMember(node)
}

/** True if the set has the element as a member. */
export function hasElement(set: FieldSet, element: string): boolean {
  const node = set[element]
  return node !== undefined && isMember(node)
}

/** The paths of all members: for each node its members, then the fields below, both in order. */
export function membersOf(set: FieldSet): string[][] {
  const paths: string[][] = []
  const visit = (node: FieldSet, path: readonly string[]): void => {
    for (const key in node) {
      if (key !== self && hasElement(node, key)) paths.push([...path, key])
    }
    for (const key in node) visit(node[key] as FieldSet, [...path, key])
  }
  visit(set, [])
  return paths
}

/** A set of paths. */
export function setOf(...paths: readonly (readonly string[])[]): FieldSet {
  const builder = new FieldSetBuilder()
  for (const path of paths) builder.insert(path, path.length)
  return inOrder(builder.set)
}

interface Gathered {
  isMember: boolean
  children: Map<string, Gathered> | undefined
}

/** The shared leaf: most nodes are leaves, so wide sets take little memory. */
const gatheredLeaf: Gathered = Object.freeze({ isMember: true, children: undefined })

/** Builds a set from paths in any order. */
export class FieldSetBuilder {
  readonly #root: Gathered = { isMember: false, children: undefined }

  get set(): FieldSet {
    return builtNode(this.#root)
  }

  /** Adds the path of the first `length` elements. Ignores the empty path: the object itself has no owner. */
  insert(path: readonly string[], length: number): void {
    if (length === 0) return
    let node = this.#root
    for (let depth = 0; depth < length - 1; depth += 1) node = below(node, path[depth] as string)
    const element = path[length - 1] as string
    const children = (node.children ??= new Map<string, Gathered>())
    const known = children.get(element)
    if (known === undefined) children.set(element, gatheredLeaf)
    else if (known !== gatheredLeaf) known.isMember = true
  }
}

/** The node's child of that name, ready for children. */
function below(node: Gathered, element: string): Gathered {
  const children = (node.children ??= new Map<string, Gathered>())
  const known = children.get(element)
  if (known !== undefined && known !== gatheredLeaf) return known
  const child: Gathered = { isMember: known === gatheredLeaf, children: undefined }
  children.set(element, child)
  return child
}

function builtNode({ isMember: member, children }: Gathered): FieldSet {
  if (children === undefined) return leaf
  const built = begun(member)
  for (const [element, child] of children) {
    built[element] = (child === gatheredLeaf ? leaf : builtNode(child)) as Draft
  }
  return nodeOf(member, built, children.size) ?? leaf
}

/**
 * The canonical form of a set that a client sent; undefined if it is invalid. Ignores unknown kinds of elements.
 */
export function readFieldSet(value: unknown): FieldSet | undefined {
  try {
    const { [self]: _, ...set } = readNode(value)
    return set
  } catch (error) {
    // An element is not JSON, or nesting exceeds the stack.
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined
    throw error
  }
}

function readNode(value: unknown): FieldSet {
  if (value === null) return leaf
  if (typeof value !== 'object' || Array.isArray(value)) throw new SyntaxError('not an object')
  const member = Object.hasOwn(value, self)
  const children = begun(member)
  let count = 0
  /** Elements that came in several encodings. */
  let repeated: Map<string, FieldSet[]> | undefined
  for (const [key, child] of Object.entries(value)) {
    if (key === self) continue
    const element = canonicalElement(key)
    if (element === undefined) continue
    const inner = readNode(child)
    const before = children[element]
    if (before === undefined) {
      children[element] = inner as Draft
      count += 1
      continue
    }
    repeated ??= new Map()
    const same = repeated.get(element)
    if (same === undefined) repeated.set(element, [before, inner])
    else same.push(inner)
  }
  for (const [element, same] of repeated ?? []) children[element] = unionOfNodes(same) as Draft
  return sortedNode((nodeOf(member, children, count) ?? leaf) as Draft)
}
