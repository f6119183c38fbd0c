/** What a kind's table shows for an object: the row by column names, at a fixed time. */
import { dialects } from '../../../components/api/dialect.ts'
import type { ResourceKey } from '../../../components/api/resources.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { printerOf } from '../../../components/api/printers.ts'

export const resources = resourcesOf(dialects.kubernetes)

export const now = Date.parse('2026-01-01T01:00:00Z')

/** A timestamp that lies so many seconds before `now`. */
export function ago(seconds: number): string {
  return new Date(now - seconds * 1000).toISOString().replace('.000Z', 'Z')
}

/** Cells of an object called `x` that is five minutes old, unless its metadata say otherwise. */
export function rowOf(
  key: ResourceKey,
  object: { metadata?: object; [field: string]: unknown },
): Record<string, unknown> {
  const printer = printerOf(resources[key])
  const metadata = { name: 'x', creationTimestamp: ago(300), ...object.metadata }
  const cells = printer.cells({ ...object, metadata }, now)
  if (cells.length !== printer.columns.length) throw new Error(`${key}: ${cells.length} cells`)
  return Object.fromEntries(cells.map((cell, index) => [printer.columns[index]?.name, cell]))
}

/** A kind, an object of it, and the cells that the object decides. */
export type RowCase = readonly [
  key: ResourceKey,
  object: { metadata?: object; [field: string]: unknown },
  cells: Record<string, unknown>,
]
