/**
 * Field elements: the keys of a field set, one step of a path each: `f:name` a field or map key, `k:{...}` an element of a
 * keyed list, `v:...` an element of a set, `i:0` an index (upstream: structured-merge-diff fieldpath).
 */
import { goQuote } from './go-syntax.ts'

// Text that JSON writes as it is, so that no encoder need be asked.
const plain = /^[\w\-./:]*$/

/** A string as JSON. */
function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text)
}

export function fieldElement(name: string): string {
  return `f:${name}`
}

export function setElement(value: unknown): string {
  return `v:${typeof value === 'string' ? quoted(value) : JSON.stringify(value)}`
}

/** One key of a keyed list. */
export interface ElementKey {
  readonly name: string
  /** What an element without the field has; undefined: it must have the field. */
  readonly default: unknown
}

/** The element of an item by its list's keys, which are in order of name. Keys that the item lacks are left out. */
export function itemElement(
  item: Readonly<Record<string, unknown>>,
  keys: readonly ElementKey[],
): string {
  let text = ''
  for (const key of keys) {
    const value = item[key.name] ?? key.default
    if (value === undefined) continue
    const shown = typeof value === 'string' ? quoted(value) : JSON.stringify(value)
    text += text === '' ? `"${key.name}":${shown}` : `,"${key.name}":${shown}`
  }
  return `k:{${text}}`
}

/** An element as a property name in JSON text, quotes included. */
export function elementText(element: string): string {
  return JSON.stringify(element)
}

/** `.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"]`: how messages name a path. */
export function showPath(elements: readonly string[]): string {
  return elements.map(showElement).join('')
}

function shownValue(value: unknown): string {
  return typeof value === 'string' ? goQuote(value) : JSON.stringify(value)
}

export function showElement(element: string): string {
  const body = element.slice(2)
  switch (element[0]) {
    case 'f':
      return `.${body}`
    case 'k': {
      const keys = Object.entries(JSON.parse(body) as Record<string, unknown>)
      return `[${keys.map(([name, value]) => `${name}=${shownValue(value)}`).join(',')}]`
    }
    case 'v':
      return `[=${shownValue(JSON.parse(body))}]`
    default:
      return `[${body}]`
  }
}

/**
 * The canonical spelling of an element that a client sent; undefined for kinds of elements that nobody knows, which are
 * left out as upstream does. Throws SyntaxError for a malformed one.
 */
export function canonicalElement(element: string): string | undefined {
  const body = element.slice(2)
  switch (element.slice(0, 2)) {
    case 'f:':
      return element
    case 'k:': {
      const keys: unknown = JSON.parse(body)
      if (typeof keys !== 'object' || keys === null || Array.isArray(keys)) {
        throw new SyntaxError(`not an object: ${body}`)
      }
      const sorted = Object.entries(keys).sort(([a], [b]) => (a < b ? -1 : 1))
      const texts = sorted.map(([name, value]) => `${quoted(name)}:${JSON.stringify(value)}`)
      return `k:{${texts.join(',')}}`
    }
    case 'v:':
      return `v:${JSON.stringify(JSON.parse(body))}`
    case 'i:':
      if (!/^-?\d+$/.test(body)) throw new SyntaxError(`not an index: ${body}`)
      return `i:${Number(body)}`
    default:
      return undefined
  }
}

const kinds = 'fkvi'

/** The order in which a set lists its elements: fields, keyed elements, set elements, indices; each by value. */
export function compareElements(a: string, b: string): number {
  if (a === b) return 0
  const kind = a.charAt(0)
  if (kind === 'f' && b.startsWith('f')) return a < b ? -1 : 1
  const byKind = kinds.indexOf(kind) - kinds.indexOf(b.charAt(0))
  if (byKind !== 0) return byKind
  return comparePayloads(kind, payloadOf(a), payloadOf(b))
}

/** The same elements in that order; each is parsed once. */
export function inElementOrder(elements: readonly string[]): string[] {
  const parsed = elements.map((element) => ({
    element,
    kind: element.charAt(0),
    payload: payloadOf(element),
  }))
  parsed.sort((a, b) =>
    a.kind === b.kind
      ? comparePayloads(a.kind, a.payload, b.payload)
      : kinds.indexOf(a.kind) - kinds.indexOf(b.kind),
  )
  return parsed.map(({ element }) => element)
}

/** What elements of one kind are compared by. */
function payloadOf(element: string): unknown {
  const body = element.slice(2)
  if (element.startsWith('f')) return body
  if (element.startsWith('i')) return Number(body)
  const value: unknown = JSON.parse(body)
  return element.startsWith('v') ? value : Object.entries(value as Record<string, unknown>)
}

function comparePayloads(kind: string, a: unknown, b: unknown): number {
  if (kind !== 'k') return compareValues(a, b)
  return compareKeys(a as [string, unknown][], b as [string, unknown][])
}

function compareKeys(
  a: readonly (readonly [string, unknown])[],
  b: readonly (readonly [string, unknown])[],
): number {
  for (const [index, [name, value]] of a.entries()) {
    const other = b[index]
    if (other === undefined) return 1
    if (name !== other[0]) return name < other[0] ? -1 : 1
    const order = compareValues(value, other[1])
    if (order !== 0) return order
  }
  return a.length - b.length
}

const typeOrder = ['number', 'string', 'boolean', 'object']

/** Scalars in upstream's order: numbers, texts, booleans, the rest. */
export function compareValues(a: unknown, b: unknown): number {
  if (a === b) return 0
  if (typeof a !== typeof b) return typeOrder.indexOf(typeof a) - typeOrder.indexOf(typeof b)
  if (typeof a === 'number') return a - (b as number)
  return (a as string) < (b as string) ? -1 : 1
}
