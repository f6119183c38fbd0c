/** Variables: `${name}` in the texts of a scenario, and the names that depend on the cluster's dialect. */
import { apiGroup, labelKey } from '../../components/api/dialect.ts'
import type { Dialect } from '../../components/api/dialect.ts'

export interface Variables {
  set(name: string, value: unknown): void
  /**
   * The value with every `${...}` in its texts replaced. A text that is nothing but one reference becomes that value itself,
   * whatever its type. An unknown name throws.
   */
  resolve<T>(value: T): T
}

/**
 * Besides what steps have saved there is: `systemNamespace`, `publicNamespace`, `nodeLeaseNamespace`,
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
  const valueOf = (name: string): unknown => {
    if (name.startsWith('group:')) return apiGroup(dialect, name.slice('group:'.length))
    if (name.startsWith('label:')) {
      const [subdomain = '', key = ''] = name.slice('label:'.length).split('/')
      return labelKey(dialect, subdomain, key)
    }
    if (values.has(name)) return values.get(name)
    throw new Error(`nothing has set \${${name}}; known are ${[...values.keys()].join(', ')}`)
  }
  const resolveText = (text: string): unknown => {
    const whole = /^\$\{([^}]+)\}$/.exec(text)
    if (whole !== null) return valueOf(whole[1] ?? '')
    return text.replaceAll(/\$\{([^}]+)\}/g, (_, name: string) => String(valueOf(name)))
  }
  const resolve = (value: unknown): unknown => {
    if (typeof value === 'string') return resolveText(value)
    if (Array.isArray(value)) return value.map(resolve)
    if (typeof value !== 'object' || value === null) return value
    // Steps inside a step are values of their own class; their texts are resolved when they run.
    if (Object.getPrototypeOf(value) !== Object.prototype) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [String(resolveText(key)), resolve(one)]),
    )
  }
  // In their order: a later one may be made of an earlier one.
  for (const [name, value] of Object.entries(initial)) values.set(name, resolve(value))
  return {
    set: (name, value) => void values.set(name, value),
    resolve: <T>(value: T): T => resolve(value) as T,
  }
}
