/** Texts of chainsaw files: references to bindings become variables, and what stands for itself stays. */
import type { Path } from '../../../cluster/path.ts'

/** Something that this engine does not do, and where. */
export interface Unsupported {
  readonly path: Path
  readonly message: string
}

const expression = /^\(.*\)$/s
const binding = /^\(\s*\$([A-Za-z_]\w*)\s*\)$/

/** `${` of shells stands for itself. */
const literal = (text: string): string => text.replaceAll('${', '${dollar}{')

function textOf(text: string, at: { path: Path; faults: Unsupported[] }): string {
  const [, name] = binding.exec(text.trim()) ?? []
  if (name !== undefined) return `\${${name}}`
  if (!expression.test(text.trim())) return literal(text)
  const message = `${text.trim()}: JMESPath expressions are not supported, only ($NAME)`
  at.faults.push({ path: at.path, message })
  return text
}

/** Any value with its bindings as variables. An expression, as value or as key, is a fault. */
export function translated(value: unknown, path: Path, faults: Unsupported[]): unknown {
  if (typeof value === 'string') return textOf(value, { path, faults })
  if (Array.isArray(value))
    return value.map((one, index) => translated(one, [...path, index], faults))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      const at = [...path, key]
      if (/^~?\w*\(.*\)/s.test(key) || key.startsWith('~.')) {
        faults.push({ path: at, message: `${key}: expressions as keys are not supported` })
      }
      return [literal(key), translated(one, at, faults)]
    }),
  )
}

/** A text, number or truth value as text; anything else is the fallback. */
export function wordOf(value: unknown, fallback = ''): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : fallback
}

/** A script: only `$` of its own. */
export const scriptText = literal
