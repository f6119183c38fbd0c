/** Variables: `${name}` in the strings of a scenario, with predefined names that depend on the cluster's dialect. */
import { apiGroup, labelKey } from '../../components/api/dialect.ts'
import type { Dialect } from '../../components/api/dialect.ts'
import { celValue } from './cel-condition.ts'
import { Deferred } from '../../cluster/shape.ts'

export interface Variables {
  /** Undefined deletes the variable. */
  set(name: string, value: unknown): void
  get(name: string): unknown
  /** Every variable that is set. */
  all(): Readonly<Record<string, unknown>>
  /**
   * Replaces every `${...}` in the strings of the value. A string that is a single reference becomes the variable's value, of any
   * type. Throws for an unknown name, and for a value of the wrong type.
   */
  resolve<T>(value: T): T
  /** Replaces known references and keeps unknown ones, for titles. */
  expand(text: string): string
  /** The same variables with further ones that hide those of the same name. What is set there and is none of these is set here. */
  within(own: Readonly<Record<string, unknown>>): Variables
}

/** A value inside a longer string: a list by its items, an object as JSON. */
function asText(value: unknown): string {
  if (Array.isArray(value)) return value.map(asText).join(',')
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
}

/**
 * Predefined beside the variables that steps save: `systemNamespace`, `publicNamespace`, `nodeLeaseNamespace`,
 * `label:<subdomain>/<name>` (a label, taint or annotation key; nothing before the slash means no subdomain),
 * `group:<stem>` (an API group) and `cel:<expression>` (its value, over all variables).
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
  const variables = variablesOver(dialect, values, undefined)
  // In order: a variable can refer to earlier ones.
  for (const [name, value] of Object.entries(initial)) values.set(name, variables.resolve(value))
  return variables
}

/** Variables kept in `values`; what is not there is looked for in `outer`. */
function variablesOver(
  dialect: Dialect,
  values: Map<string, unknown>,
  outer: Variables | undefined,
): Variables {
  const all = (): Record<string, unknown> => ({ ...outer?.all(), ...Object.fromEntries(values) })
  const has = (name: string): boolean => values.has(name) || outer?.get(name) !== undefined
  const get = (name: string): unknown => (values.has(name) ? values.get(name) : outer?.get(name))
  const valueOf = (name: string): unknown => {
    if (name.startsWith('cel:')) return celValue(name.slice('cel:'.length), all())
    if (name.startsWith('group:')) return apiGroup(dialect, name.slice('group:'.length))
    if (name.startsWith('label:')) {
      const [subdomain = '', key = ''] = name.slice('label:'.length).split('/')
      return labelKey(dialect, subdomain, key)
    }
    if (has(name)) return get(name)
    throw new Error(`variable \${${name}} is not set; known are ${Object.keys(all()).join(', ')}`)
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
  const expanded = (whole: string, name: string): string => {
    if (!/^(group|label|cel):/.test(name) && !has(name)) return whole
    try {
      return asText(valueOf(name))
    } catch {
      return whole // an expression whose variables are not set yet
    }
  }
  const variables: Variables = {
    set: (name, value) => {
      if (outer !== undefined && !values.has(name)) outer.set(name, value)
      else if (value === undefined) values.delete(name)
      else values.set(name, value)
    },
    get,
    all,
    resolve: <T>(value: T): T => resolve(value) as T,
    expand: (text) => text.replaceAll(/\$\{([^}]+)\}/g, expanded),
    within: (own) => variablesOver(dialect, new Map(Object.entries(own)), variables),
  }
  return variables
}
