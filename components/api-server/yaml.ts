/** YAML in and out: the only file of the API server that imports a YAML package. What aliases expand to is bounded. */
import { CORE_SCHEMA, dump as dumpYaml, load as loadYaml, YAMLException } from 'js-yaml'

/** Values a document may hold once its aliases are expanded; a body of the largest size stays far below. */
const mostValues = 1_000_000
/** Characters of its texts and keys, counted likewise; a body of the largest size has a third of them. */
const mostCharacters = 10_000_000
/** Nesting that later steps can walk without exhausting the stack. */
const deepest = 500

/** What is left of the most that a document may hold. */
interface Budget {
  values: number
  characters: number
}

function textOf(value: string, budget: Budget): string {
  budget.characters -= value.length
  if (budget.characters < 0) throw new Error('document contains excessive aliasing')
  // Escapes can make half a surrogate pair, which no other encoding can hold.
  return value.toWellFormed()
}

/** A fresh tree without shared parts. Throws when aliases blow it up or nest it too deep. */
function expand(value: unknown, budget: Budget, depth: number): unknown {
  budget.values -= 1
  if (budget.values < 0) throw new Error('document contains excessive aliasing')
  if (depth > deepest) throw new Error('document is nested too deep')
  if (Array.isArray(value)) return value.map((item) => expand(item, budget, depth + 1))
  if (typeof value === 'string') return textOf(value, budget)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [
      textOf(key, budget),
      expand(child, budget, depth + 1),
    ]),
  )
}

/**
 * Parses one YAML document into JSON values. Throws an error whose message names line and column; of keys that come twice
 * the last counts when `isLenient`.
 */
export function load(text: string, { isLenient = false } = {}): unknown {
  const value = loadYaml(text, { schema: CORE_SCHEMA, json: isLenient })
  return expand(value, { values: mostValues, characters: mostCharacters }, 0)
}

/** The first key that a readable document gives twice in one mapping. */
export function repeatedKey(text: string): { name: string; line: number } | undefined {
  try {
    loadYaml(text, { schema: CORE_SCHEMA })
    return undefined
  } catch (error) {
    if (!(error instanceof YAMLException) || error.reason !== 'duplicated mapping key') throw error
    const line = error.mark?.line ?? 0
    const name = /^[\s-]*(?:"([^"]*)"|'([^']*)'|([^:]*?))\s*:/.exec(text.split('\n')[line] ?? '')
    return { name: name?.[1] ?? name?.[2] ?? name?.[3] ?? '', line: line + 1 }
  }
}

/** Block style with fields in order of name; texts that YAML 1.1 would read as something else are quoted. */
export function dump(value: unknown): string {
  return dumpYaml(value, {
    lineWidth: -1,
    noRefs: true,
    seqNoIndent: true,
    sortKeys: true,
    quoteStyle: 'double',
  })
}
