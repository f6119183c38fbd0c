/** Variables: `${name}` in the strings of a scenario, with predefined names that depend on the cluster's dialect. */
import { apiGroup, labelKey } from '../../components/api/dialect.ts'
import type { Dialect } from '../../components/api/dialect.ts'
import { Deferred } from './shape.ts'

export interface Variables {
  /** Undefined deletes the variable. */
  set(name: string, value: unknown): void
  get(name: string): unknown
  /**
   * Replaces every `${...}` in the strings of the value. A string that is a single reference becomes the variable's value, of any
   * type. Throws for an unknown name, and for a value of the wrong type.
   */
  resolve<T>(value: T): T
  /** Replaces known references and keeps unknown ones, for titles. */
  expand(text: string): string
}

/** A value inside a longer string: a list by its items, an object as JSON. */
function asText(value: unknown): string {
  if (Array.isArray(value)) return value.map(asText).join(',')
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
}

/**
 * Predefined beside the variables that steps save: `systemNamespace`, `publicNamespace`, `nodeLeaseNamespace`,
 * `label:<subdomain>/<name>` (a label, taint or annotation key; nothing before the slash means no subdomain) and
 * `group:<stem>` (an API group).
 */
export function createVariables(
  dialect: Dialect,
  initial: Readonly<Record<string, unknown>> = {},
): Variables {
  const values = new Map<string, unknown>([
    ['systemNamespace', dialect.systemNamespace],
    ['publicNamespace', dialect.publicNamespace],
    ['nodeLeaseNamespace', dialect.nodeLeaseNamespace],
  ])
  const isKnown = (name: string): boolean => /^(group|label):/.test(name) || values.has(name)
  const valueOf = (name: string): unknown => {
    if (name.startsWith('group:')) return apiGroup(dialect, name.slice('group:'.length))
    if (name.startsWith('label:')) {
      const [subdomain = '', key = ''] = name.slice('label:'.length).split('/')
      return labelKey(dialect, subdomain, key)
    }
    if (values.has(name)) return values.get(name)
    throw new Error(`variable \${${name}} is not set; known are ${[...values.keys()].join(', ')}`)
  }
  const resolveText = (text: string): unknown => {
    const whole = /^\$\{([^}]+)\}$/.exec(text)
    if (whole !== null) return valueOf(whole[1] ?? '')
    return text.replaceAll(/\$\{([^}]+)\}/g, (_, name: string) => asText(valueOf(name)))
  }
  const resolve = (value: unknown): unknown => {
    if (typeof value === 'string') return resolveText(value)
    if (value instanceof Deferred) return value.with(resolveText(value.text))
    if (Array.isArray(value)) return value.map(resolve)
    if (typeof value !== 'object' || value === null) return value
    // Nested steps resolve their own variables when they run.
    if (Object.getPrototypeOf(value) !== Object.prototype) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [String(resolveText(key)), resolve(one)]),
    )
  }
  // In order: a variable can refer to earlier ones.
  for (const [name, value] of Object.entries(initial)) values.set(name, resolve(value))
  return {
    set: (name, value) =>
      void (value === undefined ? values.delete(name) : values.set(name, value)),
    get: (name) => values.get(name),
    resolve: <T>(value: T): T => resolve(value) as T,
    expand: (text) =>
      text.replaceAll(/\$\{([^}]+)\}/g, (whole, name: string) =>
        isKnown(name) ? asText(valueOf(name)) : whole,
      ),
  }
}
