/** YAML in and out: the only file of the API server that imports a YAML package. What aliases expand to is bounded. */
import { CORE_SCHEMA, dump as dumpYaml, load as loadYaml } from 'js-yaml'

/** Values a document may hold once its aliases are expanded; a body of the largest size stays far below. */
const mostValues = 1_000_000
/** Nesting that later steps can walk without exhausting the stack. */
const deepest = 500

/** A fresh tree without shared parts. Throws when aliases blow it up or nest it too deep. */
function expand(value: unknown, budget: { left: number }, depth: number): unknown {
  budget.left -= 1
  if (budget.left < 0) throw new Error('document contains excessive aliasing')
  if (depth > deepest) throw new Error('document is nested too deep')
  if (Array.isArray(value)) return value.map((item) => expand(item, budget, depth + 1))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, expand(child, budget, depth + 1)]),
  )
}

/** Parses one YAML document into JSON values. Throws an error whose message names line and column. */
export function load(text: string): unknown {
  return expand(loadYaml(text, { schema: CORE_SCHEMA }), { left: mostValues }, 0)
}

export function dump(value: unknown): string {
  return dumpYaml(value, { lineWidth: -1, noRefs: true })
}
