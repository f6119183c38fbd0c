/**
 * Field elements: the keys of a field set, one step of a path each: `f:name` a field or map key, `k:{...}` an element of a
 * keyed list, `v:...` an element of a set, `i:0` an index (upstream: structured-merge-diff fieldpath).
 */
import { goNumber, goQuote } from '../values/go-syntax.ts'

// Text that JSON does not escape, which needs no encoder.
const plain = /^[\w\-./:]*$/

// Characters that upstream's encoder escapes differently from JSON.stringify: HTML-safe, and without \b and \f.
const unlike = /\\.|[<>&\u2028\u2029]/g
const hexOf: Readonly<Record<string, string>> = { '\\b': '0008', '\\f': '000c' }

function likeUpstream(found: string): string {
  if (found.startsWith('\\')) return hexOf[found] === undefined ? found : `\\u${hexOf[found]}`
  return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** The value of a key or set element, in upstream's encoding. */
function valueText(value: unknown): string {
  if (typeof value === 'string') {
    return plain.test(value) ? `"${value}"` : JSON.stringify(value).replaceAll(unlike, likeUpstream)
  }
  const text = JSON.stringify(value)
  // Exponents have at least two digits.
  return typeof value === 'number' ? text.replace(/e-(\d)$/, 'e-0$1') : text
}

export function fieldElement(name: string): string {
  return `f:${name}`
}

export function setElement(value: unknown): string {
  return `v:${valueText(value)}`
}

/** One key of a keyed list. */
export interface ElementKey {
  readonly name: string
  /** The default of the field; undefined: the field is required. */
  readonly default: unknown
}

/** The element of an item by the list's keys, sorted by name. Omits keys that the item lacks. */
export function itemElement(
  item: Readonly<Record<string, unknown>>,
  keys: readonly ElementKey[],
): string {
  let text = ''
  for (const key of keys) {
    const sent = item[key.name]
    const value = sent === undefined ? key.default : sent
    if (value === undefined) continue
    const shown = valueText(value)
    text += text === '' ? `"${key.name}":${shown}` : `,"${key.name}":${shown}`
  }
  return `k:{${text}}`
}

/** An element as a property name in JSON text, quotes included. */
export function elementText(element: string): string {
  return JSON.stringify(element)
}

/** `.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"]`: a path in messages. */
export function showPath(elements: readonly string[]): string {
  return elements.map(showElement).join('')
}

function shownValue(value: unknown): string {
  if (typeof value === 'string') return goQuote(value)
  if (typeof value === 'number') return goNumber(value)
  if (Array.isArray(value)) return `[${value.map(shownValue).join(',')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value)
    .map(([name, inner]) => `${name}=${shownValue(inner)}`)
    .join('')
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
 * The canonical form of an element that a client sent; undefined for an unknown kind of element, which upstream ignores too.
 * Throws SyntaxError for a malformed one.
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
      const texts = sorted.map(([name, value]) => `${JSON.stringify(name)}:${valueText(value)}`)
      return `k:{${texts.join(',')}}`
    }
    case 'v:':
      return setElement(JSON.parse(body))
    case 'i:':
      if (!/^[+-]?\d+$/.test(body)) throw new SyntaxError(`not an index: ${body}`)
      return `i:${Number(body)}`
    default:
      if (element[1] !== ':') throw new SyntaxError(`no kind of element: ${element}`)
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
  if (kind === 'v' && plainText.test(a) && plainText.test(b)) return a < b ? -1 : 1
  return comparePayloads(kind, payloadOf(a), payloadOf(b))
}

// A plain string in a set. The closing quote sorts before every character of the value, so these elements sort like their values.
const plainText = /^v:"[\w\-./:]*"$/

/** Sorts the elements; parses each at most once. */
export function inElementOrder(elements: readonly string[]): string[] {
  const sortAsTexts =
    elements.every((element) => element.startsWith('f')) ||
    elements.every((element) => plainText.test(element))
  if (sortAsTexts) return elements.toSorted()
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

/** The value to compare elements of one kind by. */
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

const typeOrder = ['number', 'string', 'boolean', 'list', 'object', 'null']

function typeRank(value: unknown): number {
  if (Array.isArray(value)) return typeOrder.indexOf('list')
  return typeOrder.indexOf(value === null ? 'null' : typeof value)
}

/** Upstream's order of values: numbers, strings, booleans, lists, objects, null. */
export function compareValues(a: unknown, b: unknown): number {
  if (a === b) return 0
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : 1
  if (typeof a === 'number' && typeof b === 'number') return a - b
  const byType = typeRank(a) - typeRank(b)
  return byType !== 0 || typeof a === 'object' ? byType : Number(a) - Number(b)
}
