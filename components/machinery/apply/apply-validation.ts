/**
 * Validates applied configurations against their schema before defaulting, with upstream's messages (structured-merge-diff
 * typed/validate.go): every field declared, every value of its type, no duplicate list elements.
 */
import { fieldElement, itemElement, setElement, showElement } from './field-elements.ts'
import { elementKeysOf, isRecord } from './apply-shape.ts'
import { goNumber, goQuote } from '../values/go-syntax.ts'
import type { ListSchema, ScalarSchema, Schema, StructSchema } from '../schema/schema.ts'

/** The faults of a configuration, as one message; undefined for a valid one. */
export function configFault(schema: StructSchema, config: unknown): string | undefined {
  const faults: string[] = []
  check(schema, { value: config, faults })
  if (faults.length < 2) return faults[0]
  return ['errors:', ...faults.map((fault) => `  ${fault}`)].join('\n')
}

interface Place {
  readonly value: unknown
  /** The list element, field or key; undefined for the root. */
  readonly step?: { readonly of: Place; readonly element: string }
  readonly faults: string[]
}

/** Formatted only for an error: formatting an element takes longer than checking it. */
function pathOf({ step }: Place): string {
  if (step === undefined) return ''
  return pathOf(step.of) + showElement(step.element)
}

function fault(place: Place, what: string): void {
  const path = pathOf(place)
  place.faults.push(path === '' ? what : `${path}: ${what}`)
}

function below(of: Place, element: string, value: unknown): Place {
  return { value, step: { of, element }, faults: of.faults }
}

function check(schema: Schema, place: Place): void {
  const { value } = place
  // Null is a value of every type.
  if (value === null || value === undefined) return
  switch (schema.kind) {
    case 'struct':
      if (schema.union !== undefined) return
      if (isRecord(value)) checkFields(schema, value, place)
      else fault(place, `expected map, got &{${shown(value)}}`)
      return
    case 'map':
      if (!isRecord(value)) {
        fault(place, `expected map, got &{${shown(value)}}`)
        return
      }
      for (const name of Object.keys(value)) {
        check(schema.values, below(place, fieldElement(name), value[name]))
      }
      return
    case 'list':
      if (Array.isArray(value)) checkItems(schema, value, place)
      else fault(place, `expected list, got &{${shown(value)}}`)
      return
    default:
      checkScalar(schema, place)
  }
}

function checkFields(schema: StructSchema, value: Record<string, unknown>, place: Place): void {
  for (const name of Object.keys(value)) {
    const field = schema.fields.get(name)
    const inner = below(place, fieldElement(name), value[name])
    if (field === undefined) {
      if (schema.isOpen === true) continue
      fault(inner, 'field not declared in schema')
      return
    }
    check(field.schema, inner)
  }
}

/** The reason why an item has no valid key; undefined if it has one. */
function elementFault(
  schema: ListSchema,
  keys: ReturnType<typeof elementKeysOf>,
  item: unknown,
): string | undefined {
  if (schema.listType === 'set') {
    if (isRecord(item)) return "associative list without keys has an element that's a map type"
    if (Array.isArray(item)) return 'not supported: associative list with lists as elements'
    if (item === null) return "associative list without keys has an element that's an explicit null"
    return undefined
  }
  if (item === null) return 'associative list with keys may not have a null element'
  if (!isRecord(item)) return 'associative list with keys may not have non-map elements'
  const missing = schema.mapKeys.find((name) => {
    const fallback = keys.find((key) => key.name === name)?.default
    return item[name] === undefined && fallback === undefined
  })
  return missing === undefined
    ? undefined
    : `associative list with keys has an element that omits key field "${missing}" (and doesn't have default value)`
}

function checkItems(schema: ListSchema, items: readonly unknown[], place: Place): void {
  const keys = schema.listType === 'map' ? elementKeysOf(schema) : []
  const seen = new Set<string>()
  for (const [index, item] of items.entries()) {
    let element = `i:${index}`
    if (schema.listType !== 'atomic') {
      const why = elementFault(schema, keys, item)
      if (why !== undefined) {
        fault(place, `element ${index}: ${why}`)
        return
      }
      element =
        schema.listType === 'set'
          ? setElement(item)
          : itemElement(item as Record<string, unknown>, keys)
      if (seen.has(element)) fault(place, `duplicate entries for key ${showElement(element)}`)
      seen.add(element)
    }
    check(schema.items, below(place, element, item))
  }
}

function checkScalar({ kind }: ScalarSchema, place: Place): void {
  const { value } = place
  const type = typeof value
  switch (kind) {
    case 'int32':
    case 'int64':
    case 'double':
      if (type !== 'number') {
        fault(place, `expected numeric (int or float), got ${goTypeOf(value)}`)
      }
      return
    case 'bool':
      if (type !== 'boolean') fault(place, `expected boolean, got &{${shown(value)}}`)
      return
    case 'Quantity':
    case 'IntOrString':
      if (type === 'object') fault(place, `expected any scalar, got &{${shown(value)}}`)
      return
    case 'string':
    case 'bytes':
    case 'Time':
    case 'MicroTime':
    case 'Duration':
      if (type !== 'string') {
        const text = goSyntaxOf(value)
        fault(place, `expected string, got &value.valueUnstructured{Value:${text}}`)
      }
      return
    default:
  }
}

function goTypeOf(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}'
  if (typeof value === 'object') return 'map[string]interface {}'
  return typeof value === 'boolean' ? 'bool' : typeof value
}

/** Go's %v: `map[a:1 b:2]`, `[1 2]`. */
function shown(value: unknown): string {
  if (typeof value === 'number') return goNumber(value)
  if (Array.isArray(value)) return `[${value.map(shown).join(' ')}]`
  if (!isRecord(value)) return value === null ? '<nil>' : String(value as string)
  const fields = Object.keys(value).toSorted()
  return `map[${fields.map((name) => `${name}:${shown(value[name])}`).join(' ')}]`
}

/** Go's %#v. */
function goSyntaxOf(value: unknown): string {
  if (typeof value === 'string') return goQuote(value)
  if (typeof value === 'number') return goNumber(value)
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntaxOf).join(', ')}}`
  if (!isRecord(value)) return value === null ? 'interface {}(nil)' : String(value as boolean)
  const fields = Object.keys(value).toSorted()
  const texts = fields.map((name) => `${goQuote(name)}:${goSyntaxOf(value[name])}`)
  return `map[string]interface {}{${texts.join(', ')}}`
}
