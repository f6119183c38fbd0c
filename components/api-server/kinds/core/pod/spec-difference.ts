/** The list of changes that upstream appends to "may not change" messages, in the manner of Go's cmp.Diff. */
import { getOwn } from '../../../../machinery/values/json-copy.ts'
import type { FieldSchema, StructSchema } from '../../../../machinery/schema/schema.ts'
import { semanticEqual } from '../../rules/field-rules.ts'

/** How many unchanged neighbours are shown on each side of a change. */
const contextFields = 2

type Struct = Readonly<Record<string, unknown>>

interface Compared {
  readonly old: Struct
  readonly now: Struct
  readonly schema: StructSchema
  /** Go fields by their JSON names, in order; by default those of the schema. */
  readonly fields?: Readonly<Record<string, string>>
}

/**
 * Lines with `-` for the old value and `+` for the requested one. Expands structs, and lists of equal length, where they
 * changed; shows deeper parts of other values as JSON. Absent and empty values are equal, and the order of fields in an
 * object does not count.
 */
export function specDifference(typeName: string, compared: Compared): string {
  return [`  ${typeName}{`, ...structLines(compared, '\t'), '  }', ''].join('\n')
}

/** One field: a line for both states, two for a changed value, more for one that is opened. */
interface Row {
  readonly name: string
  readonly old: string
  readonly now: string
  readonly opened?: readonly string[]
}

function structLines({ old, now, schema, fields }: Compared, tabs: string): string[] {
  const names = fields === undefined ? [...schema.fields.keys()] : Object.keys(fields)
  const rows = names.map((name) => {
    const values = { old: getOwn(old, name), now: getOwn(now, name) }
    const isChanged = !semanticEqual(values.old, values.now)
    return { name: fields?.[name] ?? goFieldName(name), field: name, values, isChanged }
  })
  const isShown = rows.map((_, i) =>
    rows
      .slice(Math.max(0, i - contextFields), i + contextFields + 1)
      .some(({ isChanged }) => isChanged),
  )
  const lines: string[] = []
  let run: Row[] = []
  const close = () => {
    lines.push(...aligned(run, tabs))
    run = []
  }
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i]
    if (row === undefined) break
    if (isShown[i]) {
      run.push(rowOf(row, schema.fields.get(row.field), tabs))
      continue
    }
    close()
    const next = isShown.indexOf(true, i)
    const count = (next < 0 ? rows.length : next) - i
    lines.push(`  ${tabs}${leftOut(count, 'field')}`)
    i += count - 1
  }
  close()
  return lines
}

function rowOf(
  of: { name: string; values: { old: unknown; now: unknown }; isChanged: boolean },
  field: FieldSchema | undefined,
  tabs: string,
): Row {
  const { name, values, isChanged } = of
  const opened = isChanged ? openedLines(values, field, tabs) : undefined
  if (opened !== undefined) return { name, old: '', now: '', opened }
  const now = goText(values.now, field, isChanged)
  return { name, old: isChanged ? goText(values.old, field, true) : now, now }
}

/** Neighbouring fields, their values in one column; an opened one stands by itself. */
function aligned(rows: readonly Row[], tabs: string): string[] {
  const lines: string[] = []
  for (let i = 0; i < rows.length;) {
    const [first, ...inner] = rows[i]?.opened ?? []
    if (first !== undefined) {
      lines.push(`  ${tabs}${rows[i]?.name}: ${first}`, ...inner)
      i += 1
      continue
    }
    const next = rows.findIndex(({ opened }, at) => at > i && opened !== undefined)
    const group = rows.slice(i, next < 0 ? rows.length : next)
    const width = Math.max(...group.map(({ name }) => name.length)) + 1
    for (const { name, old, now } of group) {
      const label = `${tabs}${`${name}:`.padEnd(width)}`
      if (old === now) lines.push(`  ${label} ${now},`)
      else lines.push(`- ${label} ${old},`, `+ ${label} ${now},`)
    }
    i += group.length
  }
  return lines
}

/** The inside of a struct that both states have, and of a list of as many structs; the first line follows the field's name. */
function openedLines(
  { old, now }: { old: unknown; now: unknown },
  field: FieldSchema | undefined,
  tabs: string,
): string[] | undefined {
  const schema = field?.schema
  if (schema?.kind === 'struct' && isStruct(old) && isStruct(now)) {
    const head = `${field?.pointer === true ? '&' : ''}core.${schema.goName}{`
    return [head, ...structLines({ old, now, schema }, `${tabs}\t`), `  ${tabs}},`]
  }
  if (schema?.kind !== 'list' || schema.items.kind !== 'struct') return undefined
  if (!Array.isArray(old) || !Array.isArray(now) || old.length !== now.length) return undefined
  const lines = [`[]core.${schema.items.goName}{`]
  let same = 0
  const close = () => {
    if (same > 0) lines.push(`  ${tabs}\t${leftOut(same, 'element')}`)
    same = 0
  }
  for (const [i, before] of (old as readonly unknown[]).entries()) {
    const after: unknown = now[i]
    if (semanticEqual(before, after)) {
      same += 1
      continue
    }
    close()
    const states = { old: before as Struct, now: after as Struct, schema: schema.items }
    lines.push(`  ${tabs}\t{`, ...structLines(states, `${tabs}\t\t`), `  ${tabs}\t},`)
  }
  close()
  return [...lines, `  ${tabs}},`]
}

function leftOut(count: number, what: string): string {
  return `... // ${count} identical ${what}${count === 1 ? '' : 's'}`
}

function isStruct(value: unknown): value is Struct {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const abbreviations: Readonly<Record<string, string>> = { tty: 'TTY' }

function goFieldName(name: string): string {
  return abbreviations[name] ?? name.charAt(0).toUpperCase() + name.slice(1)
}

const zeros: Readonly<Partial<Record<FieldSchema['schema']['kind'], string>>> = {
  string: '""',
  bool: 'false',
  int32: '0',
  int64: '0',
  double: '0',
  struct: '{}',
}

/** A pointer shows what it points to behind `&`; without a value it is nil, as lists and maps are. */
function goText(value: unknown, field: FieldSchema | undefined, isTyped: boolean): string {
  const schema = field?.schema
  const isPointer = field?.pointer === true && schema?.kind !== 'list' && schema?.kind !== 'map'
  const isEmptyList = Array.isArray(value) && value.length === 0
  if (value === undefined || value === null || isEmptyList) {
    return (!isPointer && schema && zeros[schema.kind]) || 'nil'
  }
  if (Array.isArray(value) && schema?.kind === 'list' && schema.items.kind === 'string') {
    return `${isTyped ? '[]string' : ''}{${value.map((item) => JSON.stringify(item)).join(', ')}}`
  }
  return `${isPointer ? '&' : ''}${JSON.stringify(inOrder(value))}`
}

/** The same with the fields of every object sorted, so that two states show them in one order. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (!isStruct(value)) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, inner]) => [name, inOrder(inner)]))
}
