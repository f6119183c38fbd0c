/** The error of upstream's converter from maps to structs about a value of another type (apimachinery pkg/runtime/converter.go). */
import type { Schema } from './schema.ts'

/** The kind of a JSON value's Go type. */
function goKind(value: unknown): string {
  if (Array.isArray(value)) return 'slice'
  switch (typeof value) {
    case 'string':
      return 'string'
    case 'boolean':
      return 'bool'
    case 'number':
      return Number.isInteger(value) ? 'int64' : 'float64'
    default:
      return 'map'
  }
}

const scalarKinds: Readonly<Partial<Record<Schema['kind'], string>>> = {
  bool: 'bool',
  int32: 'int32',
  int64: 'int64',
  double: 'float64',
}

/** Go converts integers to text, as characters; the converter does not. */
function isConvertible(from: string, to: string): boolean {
  if (to === 'string') return from === 'int64'
  return (from === 'int64' || from === 'float64') && to !== 'bool'
}

export function converterFault(
  value: unknown,
  { kind, goType }: Pick<Schema, 'kind' | 'goType'>,
): string {
  const from = goKind(value)
  switch (kind) {
    case 'struct':
      return `cannot restore struct from: ${from}`
    case 'map':
      return `cannot restore map from ${from}`
    case 'list':
    case 'bytes':
      return `cannot restore slice from ${from}`
    default: {
      const to = scalarKinds[kind] ?? 'string'
      return isConvertible(from, to)
        ? `cannot convert ${from} to ${goType}`
        : `unrecognized type: ${to}`
    }
  }
}
