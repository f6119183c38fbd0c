/**
 * What an expression of a mutation constructed, as JSON: an apply configuration or a JSON patch (upstream: plugin/policy/mutating/
 * patch). Bounded: variables that refer to each other can make a value that grows with a power of their number.
 */
import { isCelError, isCelList, isCelMap, isCelUint, type CelMap } from '@bufbuild/cel'
import { maxBodyValues } from '../machinery/values/value-limit.ts'
import { jsonPatchType, objectType, typeKey } from './cel-construct-types.ts'
import { textOf } from './cel-literals.ts'
import { withoutOptional } from './cel-optional.ts'
import { keyText, type CelTyped } from './cel.ts'

/** All texts together: as many as a body may bring. */
const mostCharacters = 3 * 1024 * 1024

/** A loop may repeat one. */
const mostFaults = 10

const tooLarge = 'the result of the expression is too large'

const nameOf = (value: CelMap): unknown => value.get(typeKey)

/** Reads values of one result. */
class ConstructedReader {
  #valuesLeft = maxBodyValues
  #charactersLeft = mostCharacters
  /** Types that do not belong where they are. */
  readonly #faults: string[] = []

  /** `path` is the type's name that belongs there; undefined where types are not checked. Throws an Error for what JSON has no form of. */
  json(input: unknown, path: string | undefined): unknown {
    this.#valuesLeft -= 1
    if (this.#valuesLeft < 0) throw new Error(tooLarge)
    const value = withoutOptional(input)
    switch (typeof value) {
      case 'bigint':
        return Number(value)
      case 'string':
        return this.#text(value)
      case 'boolean':
        return value
      case 'undefined':
        return null
      case 'number':
        if (Number.isFinite(value)) return value
        throw new Error(`json: unsupported value: ${value}`)
      default:
        return value === null ? null : this.#object(value, path)
    }
  }

  #object(value: unknown, path: string | undefined): unknown {
    if (isCelUint(value)) return Number(value.value)
    if (isCelList(value)) return [...value].map((item) => this.json(item, path))
    if (isCelMap(value)) return this.#fields(value, path)
    if (value instanceof Uint8Array) return this.#text(Buffer.from(value).toString('base64'))
    const text = textOf(value)
    if (isCelError(text) || typeof text !== 'string') throw new Error('the value has no JSON form')
    return this.#text(text)
  }

  #fields(value: CelMap, path: string | undefined): Record<string, unknown> {
    const name = nameOf(value)
    const isMisplaced = path !== undefined && typeof name === 'string' && name !== path
    if (isMisplaced && this.#faults.length < mostFaults) {
      this.#faults.push(
        `unexpected type name "${name}", expected "${path}", which matches field name path from root Object type`,
      )
    }
    const fields: [string, unknown][] = []
    for (const [key, item] of value) {
      if (key === typeKey && name !== undefined) continue
      if (typeof key !== 'string') throw new Error(`map key "${keyText(key)}" is not a string`)
      // Maps and lists have no type names of their own.
      const below = path === undefined || name === undefined ? path : `${path}.${key}`
      fields.push([this.#text(key), this.json(item, below)])
    }
    return Object.fromEntries(fields)
  }

  #text(text: string): string {
    this.#charactersLeft -= text.length
    if (this.#charactersLeft < 0) throw new Error(tooLarge)
    return text
  }

  /** Throws an Error that names the types which do not belong where they are. */
  check(): void {
    if (this.#faults.length > 0) throw new Error(`type mismatch: ${this.#faults.join('\n')}`)
  }
}

/** The fields that the expression sets. Throws an Error for a result that is no `Object`, or not made of its parts. */
export function applyConfigurationOf(result: CelTyped): Record<string, unknown> {
  const { value } = result
  const root = objectType().name
  if (!isCelMap(value) || nameOf(value) !== root) {
    throw new Error('unsupported return type from ApplyConfiguration expression')
  }
  const reader = new ConstructedReader()
  const object = reader.json(value, root)
  reader.check()
  return object as Record<string, unknown>
}

/** The operations that the expression lists, as in RFC 6902. Throws an Error for a result that is no list of `JSONPatch`. */
export function jsonPatchOf(result: CelTyped): Record<string, unknown>[] {
  const { value } = result
  const mismatch = 'type mismatch: JSONPatchType.expression should evaluate to array'
  if (!isCelList(value)) throw new Error(mismatch)
  const reader = new ConstructedReader()
  const operations = [...value].map((item: unknown) => {
    if (!isCelMap(item) || nameOf(item) !== jsonPatchType.name) {
      throw new Error(`${mismatch} of JSONPatch`)
    }
    const operation: Record<string, unknown> = { op: '', path: '' }
    for (const [name, field] of item) {
      if (typeof name !== 'string') continue
      const type = isCelMap(field) ? nameOf(field) : undefined
      const json = reader.json(field, typeof type === 'string' ? type : undefined)
      if (name !== 'from' || json !== '') operation[name] = json
    }
    return operation
  })
  reader.check()
  return operations
}
