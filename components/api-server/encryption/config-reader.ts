/** ConfigReader: reads fields of an EncryptionConfiguration by type, and collects what is wrong with them. */
import type { FieldError } from '../../machinery/objects/status-error.ts'
import { requiredValue } from '../../machinery/validation/field-errors.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Undefined for what is no object; nothing at all has no fields. */
export function fieldsOf(value: unknown): Fields | undefined {
  if (value === undefined || value === null) return {}
  return typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : undefined
}

/** Collects errors with their field paths. */
export class ConfigReader {
  readonly errors: FieldError[] = []
  /** Of the KMS providers so far. */
  readonly kmsNames = new Set<string>()

  wrongType(path: string, wanted: string): void {
    this.errors.push({
      field: path,
      type: 'FieldValueTypeInvalid',
      message: `Invalid value: must be ${wanted}`,
    })
  }

  fields(value: unknown, path: string): Fields {
    const fields = fieldsOf(value)
    if (fields === undefined) this.wrongType(path, 'an object')
    return fields ?? {}
  }

  list(value: unknown, path: string, what = path): readonly unknown[] {
    if (value !== undefined && value !== null && !Array.isArray(value)) {
      this.wrongType(path, 'a list')
      return []
    }
    const items = (value ?? []) as readonly unknown[]
    if (items.length === 0)
      this.errors.push(requiredValue(path, `at least one ${what} is required`))
    return items
  }

  text(value: unknown, path: string): string {
    if (value === undefined || value === null) return ''
    if (typeof value === 'string') return value
    this.wrongType(path, 'a string')
    return ''
  }
}
