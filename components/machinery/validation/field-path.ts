/** FieldPath: where a validator stands in an object, and the list its findings go to. */
import * as fieldErrors from './field-errors.ts'
import type { GoValue } from '../values/go-syntax.ts'
import type { FieldError } from '../objects/status-error.ts'

/**
 * A validator takes a value and the FieldPath it was found at, and reports through the path. Paths are cheap: the text
 * is only put together when an error needs it.
 */
export class FieldPath {
  /** Shared by all paths made from the same root, in the order of the findings. */
  readonly errors: FieldError[]
  readonly #parent: FieldPath | undefined
  /** A name, a position, or a key in brackets. */
  readonly #segment: string | number

  private constructor(
    errors: FieldError[],
    parent: FieldPath | undefined,
    segment: string | number,
  ) {
    this.errors = errors
    this.#parent = parent
    this.#segment = segment
  }

  /** A new, empty list of findings, at the path of that name ('' is the object itself). */
  static root(name = ''): FieldPath {
    return new FieldPath([], undefined, name)
  }

  child(name: string): FieldPath {
    return new FieldPath(this.errors, this, name)
  }

  index(position: number): FieldPath {
    return new FieldPath(this.errors, this, position)
  }

  key(name: string): FieldPath {
    return new FieldPath(this.errors, this, `[${name}]`)
  }

  toString(): string {
    const before = this.#parent?.toString() ?? ''
    const segment = typeof this.#segment === 'number' ? `[${this.#segment}]` : this.#segment
    return before === '' || segment.startsWith('[') ? before + segment : `${before}.${segment}`
  }

  required(detail = ''): void {
    this.errors.push(fieldErrors.requiredValue(this.toString(), detail))
  }

  invalid(value: GoValue, detail: string): void {
    this.errors.push(fieldErrors.invalidValue(this.toString(), { value, detail }))
  }

  /** One finding per message; the rules of names.ts return such lists. */
  invalidEach(value: GoValue, details: readonly string[]): void {
    for (const detail of details) this.invalid(value, detail)
  }

  invalidWithoutValue(detail: string): void {
    this.errors.push(fieldErrors.invalidWithoutValue(this.toString(), detail))
  }

  unsupported(value: GoValue, supported: readonly string[]): void {
    this.errors.push(fieldErrors.unsupportedValue(this.toString(), { value, supported }))
  }

  duplicate(value: GoValue, detail = ''): void {
    this.errors.push(fieldErrors.duplicateValue(this.toString(), value, detail))
  }

  forbidden(detail: string): void {
    this.errors.push(fieldErrors.forbiddenValue(this.toString(), detail))
  }

  notFound(value: GoValue, detail = ''): void {
    this.errors.push(fieldErrors.valueNotFound(this.toString(), value, detail))
  }

  tooLong(maxBytes: number): void {
    this.errors.push(fieldErrors.tooLong(this.toString(), maxBytes))
  }

  tooMany(actual: number, max: number): void {
    this.errors.push(fieldErrors.tooMany(this.toString(), actual, max))
  }

  internal(detail: string): void {
    this.errors.push(fieldErrors.internalFieldError(this.toString(), detail))
  }
}
