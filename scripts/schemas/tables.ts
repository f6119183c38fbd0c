/** Reads `fields.tsv` and `enums.tsv`: one row per field, per named type (json `=`) and per struct marker (json `@`). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface FieldRow {
  readonly json: string
  readonly type: string
  readonly proto: string
  /** `required`, `optional`, or `emitted`: optional, but always written. */
  readonly presence: string
  readonly listType: string
  readonly mapKeys: string
  readonly mapType: string
  readonly patchStrategy: string
  readonly patchMergeKey: string
  readonly default: string
}

export interface StructTable {
  readonly name: string
  readonly atomic: boolean
  readonly fields: readonly FieldRow[]
}

export interface PackageTable {
  readonly name: string
  readonly structs: ReadonlyMap<string, StructTable>
  readonly named: ReadonlyMap<string, { readonly type: string; readonly wrapped: boolean }>
  readonly values: ReadonlyMap<
    string,
    { readonly known: readonly string[]; readonly closed: boolean }
  >
}

export type Tables = ReadonlyMap<string, PackageTable>

/** Reads both tables from a folder; throws on a row it cannot read. */
export function readTables(folder: string): Tables {
  const packages = new Map<string, ReturnType<typeof emptyPackage>>()
  const packageOf = (name: string) => {
    const found = packages.get(name) ?? emptyPackage(name)
    packages.set(name, found)
    return found
  }
  for (const row of rowsOf(join(folder, 'fields.tsv'))) {
    const [packageName = '', name = '', json = '', type = '', proto = '', presence = ''] = row
    if (name === '' || json === '') throw new Error(`fields.tsv: cannot read ${row.join(' ')}`)
    const target = packageOf(packageName)
    if (json === '=') {
      target.named.set(name, { type, wrapped: presence === 'message' })
      continue
    }
    const struct = target.structs.get(name) ?? { name, atomic: false, fields: [] as FieldRow[] }
    target.structs.set(name, json === '@' ? { ...struct, atomic: true } : struct)
    if (json === '@' || json === '-') continue
    const [listType = '', mapKeys = '', mapType = '', patchStrategy = '', patchMergeKey = ''] =
      row.slice(6)
    const merge = { listType, mapKeys, mapType, patchStrategy, patchMergeKey }
    struct.fields.push({ json, type, proto, presence, ...merge, default: row[11] ?? '' })
  }
  for (const [packageName = '', type = '', value = '', closed] of rowsOf(
    join(folder, 'enums.tsv'),
  )) {
    const { values } = packageOf(packageName)
    const found = values.get(type) ?? { known: [], closed: closed === 'closed' }
    found.known.push(value)
    values.set(type, found)
  }
  return packages
}

function emptyPackage(name: string) {
  return {
    name,
    structs: new Map<string, { name: string; atomic: boolean; fields: FieldRow[] }>(),
    named: new Map<string, { type: string; wrapped: boolean }>(),
    values: new Map<string, { known: string[]; closed: boolean }>(),
  }
}

function rowsOf(path: string): string[][] {
  const [, ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n')
  return lines.map((line) => line.split('\t'))
}
