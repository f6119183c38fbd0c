/** YAML in and out: the only file of the components that imports a YAML package. The size of expanded aliases is bounded. */
import { CORE_SCHEMA, dump as dumpYaml, load as loadYaml, YAMLException } from 'js-yaml'
import { setOwn } from './json-copy.ts'
import { maxBodyValues, TooManyValuesError, ValueBudget } from './value-limit.ts'

/** Characters of texts and keys that a document may hold once its aliases are expanded; a body has a third of them. */
const mostCharacters = 10_000_000
/** Nesting that later steps can walk without exhausting the stack. */
const deepest = 500

/** The rest of the values and characters that a document may hold. */
interface Budget {
  readonly values: ValueBudget
  characters: number
}

function textOf(value: string, budget: Budget): string {
  budget.characters -= value.length
  if (budget.characters < 0) throw new Error('document contains excessive aliasing')
  // Escapes can make half a surrogate pair, which no other encoding can hold.
  return value.toWellFormed()
}

function expand(value: unknown, budget: Budget, depth: number): unknown {
  budget.values.spend()
  if (depth > deepest) throw new Error('document is nested too deep')
  if (Array.isArray(value)) return value.map((item) => expand(item, budget, depth + 1))
  if (typeof value === 'string') return textOf(value, budget)
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const child = (value as Record<string, unknown>)[key]
    setOwn(copy, textOf(key, budget), expand(child, budget, depth + 1))
  }
  return copy
}

/** The first key that a document gives twice in one mapping. */
export interface RepeatedKey {
  readonly name: string
  readonly line: number
}

/** A document that may give a key twice, in which case the last value counts. */
export interface LenientYaml {
  readonly value: unknown
  readonly repeatedKey: RepeatedKey | undefined
}

/** Parses one YAML document into JSON values. Throws an error whose message names line and column, also of a key given twice. */
export function load(text: string): unknown {
  return expanded(loadYaml(text, { schema: CORE_SCHEMA }), text)
}

/** The same, but a key given twice is named and no error. */
export function loadLenient(text: string): LenientYaml {
  try {
    return { value: load(text), repeatedKey: undefined }
  } catch (error) {
    if (!(error instanceof YAMLException) || error.reason !== 'duplicated mapping key') throw error
    const value = expanded(loadYaml(text, { schema: CORE_SCHEMA, json: true }), text)
    return { value, repeatedKey: keyAt(text, error.mark?.line ?? 0) }
  }
}

/** A fresh tree of one value of a document without shared parts. Throws when aliases blow it up or nest it too deep. */
export function expanded(value: unknown, text: string): unknown {
  try {
    return expand(value, { values: new ValueBudget(maxBodyValues), characters: mostCharacters }, 0)
  } catch (error) {
    if (!(error instanceof TooManyValuesError) || !text.includes('*')) throw error
    throw new Error('document contains excessive aliasing', { cause: error })
  }
}

function keyAt(text: string, line: number): RepeatedKey {
  const name = /^[\s-]*(?:"([^"]*)"|'([^']*)'|([^:]*?))\s*:/.exec(text.split('\n')[line] ?? '')
  return { name: name?.[1] ?? name?.[2] ?? name?.[3] ?? '', line: line + 1 }
}

/** The YAML of JSON text. */
export function yamlOf(json: string): string {
  return dump(JSON.parse(json))
}

/** Block style with fields in order of name; texts that YAML 1.1 would read as something else are quoted. */
function dump(value: unknown): string {
  return dumpYaml(value, {
    lineWidth: -1,
    noRefs: true,
    seqNoIndent: true,
    sortKeys: true,
    quoteStyle: 'double',
  })
}
