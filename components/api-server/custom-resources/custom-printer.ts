/** How custom resources show in a table (upstream: apiextensions-apiserver pkg/registry/customresource/tableconvertor). */
import type { CustomResourceColumnDefinition } from '../../api/generated/types.ts'
import type { Cell, Column, TablePrinter } from '../../machinery/objects/table-printer.ts'
import { defaultPrinter, nameColumn, tablePrinter } from '../../api/columns/table-printer.ts'
import { ageOf } from '../../machinery/values/duration.ts'
import { parseJsonPath, valuesAt } from '../../machinery/values/json-path.ts'

function textOf(values: readonly unknown[]): string {
  return values
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join(',')
}

/** A value as a cell of its column's type. A mismatched value gives an empty cell, or `<invalid>` for a date. */
function cellOf(type: Column['type'], values: readonly unknown[], nowMs: number): Cell {
  const [value] = values
  if (value === undefined || value === null) return null
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null
    case 'number':
      return typeof value === 'number' ? value : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'string':
      return textOf(values)
    case 'date':
      if (typeof value !== 'string') return '<invalid>'
      return Number.isNaN(Date.parse(value)) ? '<invalid>' : ageOf(value, nowMs)
  }
}

/** The name, then the definition's columns; without any, the name and when the object was created. */
export function customPrinter(
  definitions: readonly CustomResourceColumnDefinition[] | undefined,
): TablePrinter {
  if (definitions === undefined || definitions.length === 0) return defaultPrinter
  const columns = definitions.flatMap((definition) => {
    const path = parseJsonPath(definition.jsonPath)
    if (path === undefined) return []
    const { name, format = '', description = '', priority = 0 } = definition
    const type = definition.type as Column['type']
    return {
      column: {
        name,
        type,
        format,
        description:
          description ||
          `Custom resource definition column (in JSONPath format): ${definition.jsonPath}`,
        priority,
      },
      cell: (object: object, nowMs: number) => cellOf(type, valuesAt(object, path), nowMs),
    }
  })
  return tablePrinter(nameColumn, ...columns)
}
