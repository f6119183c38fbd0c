/** Values of templates: JSON. */
export type Mapping = Readonly<Record<string, unknown>>

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether an `if` takes it: not for empty texts, lists and mappings, zero, false and nothing. */
export function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (isMapping(value)) return Object.keys(value).length > 0
  return value !== undefined && value !== null && value !== '' && value !== 0 && value !== false
}

/** The item or field at a key; nothing for a field that is not there. Throws for a list that is too short, and for other values. */
export function itemAt(value: unknown, key: unknown): unknown {
  if (value === undefined || value === null) throw new Error('index of nothing')
  if (isMapping(value)) {
    if (typeof key !== 'string') throw new Error('the index of a mapping must be a text')
    return Object.hasOwn(value, key) ? value[key] : undefined
  }
  if (typeof key !== 'number' || !Number.isInteger(key))
    throw new Error('the index of a list must be a whole number')
  const items = typeof value === 'string' ? [...Buffer.from(value)] : value
  if (!Array.isArray(items)) throw new Error(`a ${typeof value} has no index`)
  if (key < 0 || key >= items.length) throw new Error(`index ${key} is out of range`)
  return items[key] as unknown
}
