/** fieldOwners: which manager owns which field of an object, from its managedFields (upstream: structured-merge-diff's fieldpath). Pure. */

export interface ManagedFieldsEntry {
  readonly manager?: string
  readonly operation?: string
  readonly subresource?: string
  readonly time?: string
  readonly apiVersion?: string
  readonly fieldsV1?: unknown
}

export interface OwnedField {
  /** `replicas`, `[name=web]`, `[0]`. */
  readonly label: string
  /** Indexes of the entries that own the field itself. */
  readonly owners: readonly number[]
  /** Of the object; undefined for branches and for what is not there. */
  readonly value: string | undefined
  readonly fields: readonly OwnedField[]
}

interface Building {
  readonly owners: number[]
  readonly fields: Map<string, Building>
}

const building = (): Building => ({ owners: [], fields: new Map() })

type Json = Readonly<Record<string, unknown>>
const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Deeper than any schema. */
const mostDepth = 64

function add(into: Building, fields: Json, { entry, depth }: { entry: number; depth: number }) {
  if (depth > mostDepth) return
  for (const [key, below] of Object.entries(fields)) {
    if (key === '.') {
      into.owners.push(entry)
      continue
    }
    const child = into.fields.get(key) ?? building()
    into.fields.set(key, child)
    if (isRecord(below) && Object.keys(below).length > 0)
      add(child, below, { entry, depth: depth + 1 })
    else child.owners.push(entry)
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/** What a path element (`f:name`, `k:{...}`, `v:...`, `i:0`) selects of a value, and how it reads. */
function select(element: string, value: unknown): { label: string; value: unknown } {
  const [type, rest] = [element.slice(0, 2), element.slice(2)]
  if (type === 'f:') return { label: rest, value: isRecord(value) ? value[rest] : undefined }
  const items: readonly unknown[] = Array.isArray(value) ? value : []
  if (type === 'i:') return { label: `[${rest}]`, value: items[Number(rest)] }
  const wanted = parsed(rest)
  if (type === 'v:') return { label: `[${rest}]`, value: items.find((item) => item === wanted) }
  if (type !== 'k:' || !isRecord(wanted)) return { label: element, value: undefined }
  const keys = Object.entries(wanted)
  const found = items.find(
    (item) => isRecord(item) && keys.every(([key, one]) => item[key] === one),
  )
  const label = keys.map(([key, one]) => `${key}=${String(one)}`).join(',')
  return { label: `[${label}]`, value: found }
}

function scalarText(value: unknown): string | undefined {
  if (value === undefined || (typeof value === 'object' && value !== null)) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function fieldsOf({ fields }: Building, value: unknown): OwnedField[] {
  return [...fields]
    .map(([element, child]): OwnedField => {
      const { label, value: own } = select(element, value)
      return {
        label,
        owners: child.owners,
        value: scalarText(own),
        fields: fieldsOf(child, own),
      }
    })
    .toSorted((a, b) => (a.label < b.label ? -1 : 1))
}

/** A tree of all owned fields; `owners` are indexes into `entries`. */
export function fieldOwners(
  entries: readonly ManagedFieldsEntry[],
  object: unknown,
): readonly OwnedField[] {
  const root = building()
  entries.forEach(({ fieldsV1 }, entry) => {
    if (isRecord(fieldsV1)) add(root, fieldsV1, { entry, depth: 0 })
  })
  return fieldsOf(root, object)
}

/** Fields of one manager, or those with several: how many there are below, with themselves. */
export function countFields(
  fields: readonly OwnedField[],
  counts: (field: OwnedField) => boolean,
): number {
  return fields.reduce(
    (sum, field) => sum + (counts(field) ? 1 : 0) + countFields(field.fields, counts),
    0,
  )
}

/** Only the fields that count, and the way to them. */
export function onlyFields(
  fields: readonly OwnedField[],
  counts: (field: OwnedField) => boolean,
): OwnedField[] {
  return fields.flatMap((field) => {
    const below = onlyFields(field.fields, counts)
    return counts(field) || below.length > 0 ? [{ ...field, fields: below }] : []
  })
}
