/** Differences: where two JSON values differ, field by field; their paths and values as text. */
import { getOwn } from '../values/json-copy.ts'
import { deepEqual } from './object.ts'

/** Fields and indexes from the root; empty for the whole value. */
export type ValuePath = readonly (string | number)[]

export interface Difference {
  readonly path: ValuePath
  /** Undefined: it was not there. */
  readonly before: unknown
  /** Undefined: it is gone. */
  readonly after: unknown
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Every difference between two JSON values. Lists of equal length are compared item by item, others as a whole. */
export function differences(before: unknown, after: unknown, path: ValuePath = []): Difference[] {
  if (deepEqual(before, after)) return []
  if (isMapping(before) && isMapping(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...keys].flatMap((key) =>
      differences(getOwn(before, key), getOwn(after, key), [...path, key]),
    )
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((one: unknown, index) => differences(one, after[index], [...path, index]))
  }
  return [{ path, before, after }]
}

/** A path with one more step: `spec`, `containers[0]`, `labels['a/b']`. */
export function childPath(path: string, step: string | number): string {
  if (typeof step === 'number') return `${path}[${step}]`
  const field = /^[\w-]+$/.test(step) ? step : `['${step}']`
  return path === '' || field.startsWith('[') ? `${path}${field}` : `${path}.${field}`
}

/** `spec.containers[0].image`; empty for the whole value. */
export function pathText(path: ValuePath): string {
  return path.reduce<string>(childPath, '')
}

/** A value as one short line. */
export function brief(value: unknown, most = 200): string {
  if (value === undefined) return 'nothing'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > most ? `${text.slice(0, most)}...` : text
}
