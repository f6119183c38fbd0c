/** The types of CEL expressions as the checker sees them, including distinctions that the evaluator cannot make. */

export type CelType =
  | { readonly kind: 'dyn' | 'null' | Scalar }
  | { readonly kind: 'list' | 'optional'; readonly element: CelType }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType }
  /** Fields have types; a value is an object, and a field that is not in it is absent. */
  | {
      readonly kind: 'object'
      readonly name: string
      readonly fields: Readonly<Record<string, CelType>>
      /** Other fields may be of any type. */
      readonly isOpen?: boolean
    }
  /** Only functions look into it: a quantity, an address, a URL. */
  | { readonly kind: 'opaque'; readonly name: string }

type Scalar =
  'bool' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'type' | 'timestamp' | 'duration'

const scalar = <Kind extends Scalar | 'dyn' | 'null'>(kind: Kind): { readonly kind: Kind } => ({
  kind,
})

export const dyn = scalar('dyn')
export const nullType = scalar('null')
export const bool = scalar('bool')
export const int = scalar('int')
export const uint = scalar('uint')
export const double = scalar('double')
export const string = scalar('string')
export const bytes = scalar('bytes')
export const typeType = scalar('type')
export const timestamp = scalar('timestamp')
export const duration = scalar('duration')
export const listOf = (element: CelType): CelType => ({ kind: 'list', element })
export const optionalOf = (element: CelType): CelType => ({ kind: 'optional', element })
export const mapOf = (key: CelType, value: CelType): CelType => ({ kind: 'map', key, value })
export const opaque = (name: string): CelType => ({ kind: 'opaque', name })

const wellKnown: Readonly<Record<string, string>> = {
  null: 'null',
  timestamp: 'google.protobuf.Timestamp',
  duration: 'google.protobuf.Duration',
}

/** As messages write a type: `list(string)`, `map(string, dyn)`. */
export function typeName(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${typeName(type.element)})`
    case 'optional':
      return `optional_type(${typeName(type.element)})`
    case 'map':
      return `map(${typeName(type.key)}, ${typeName(type.value)})`
    case 'object':
    case 'opaque':
      return type.name
    default:
      return wellKnown[type.kind] ?? type.kind
  }
}

/** Whether a value of `from` can stand where `to` is wanted; what is only known at run time can. */
export function isAssignable(from: CelType, to: CelType): boolean {
  if (from.kind === 'dyn' || to.kind === 'dyn') return true
  if (from.kind === 'null' || to.kind === 'null') {
    const other = from.kind === 'null' ? to : from
    return ['null', 'object', 'opaque', 'timestamp', 'duration'].includes(other.kind)
  }
  if (
    (from.kind === 'list' && to.kind === 'list') ||
    (from.kind === 'optional' && to.kind === 'optional')
  ) {
    return isAssignable(from.element, to.element)
  }
  if (from.kind === 'map' && to.kind === 'map') {
    return isAssignable(from.key, to.key) && isAssignable(from.value, to.value)
  }
  if (from.kind !== to.kind) return false
  return !('name' in from) || !('name' in to) || from.name === to.name
}

/** The type of what may be either; undefined when nothing is both. */
export function join(a: CelType, b: CelType): CelType | undefined {
  if (!isAssignable(a, b)) return undefined
  if (a.kind === 'dyn' || b.kind === 'dyn') return dyn
  if (a.kind === 'list' && b.kind === 'list') {
    const element = joinItems(a.element, b.element)
    return element && listOf(element)
  }
  if (a.kind === 'optional' && b.kind === 'optional') {
    const element = join(a.element, b.element)
    return element && optionalOf(element)
  }
  if (a.kind === 'map' && b.kind === 'map') {
    const [key, value] = [join(a.key, b.key), join(a.value, b.value)]
    return key && value && mapOf(key, value)
  }
  return a.kind === 'null' ? b : a
}

/** The item type of either of two lists; a list without items takes the other's. */
export function joinItems(a: CelType, b: CelType): CelType | undefined {
  if (a.kind === 'dyn') return b
  return b.kind === 'dyn' ? a : join(a, b)
}
