/** Subset: whether an object contains the wanted fields, and the differences between two values by path. */
import { deepEqual } from '../../components/machinery/objects/object.ts'

export interface Difference {
  /** `spec.containers[0].image`; empty for the whole value. */
  readonly path: string
  readonly wanted: unknown
  readonly got: unknown
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function childPath(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`
  const field = /^[\w-]+$/.test(key) ? key : `['${key}']`
  return path === '' || field.startsWith('[') ? `${path}${field}` : `${path}.${field}`
}

/**
 * The differences between `wanted` and `got`. Mappings in `got` may have more fields, a wanted null means absent, and lists must
 * have equal length and match item by item.
 */
export function missingFrom(got: unknown, wanted: unknown, path = ''): Difference[] {
  if (wanted === null) return got === undefined || got === null ? [] : [{ path, wanted, got }]
  if (isMapping(wanted)) {
    if (!isMapping(got)) return [{ path, wanted, got }]
    return Object.entries(wanted).flatMap(([key, one]) =>
      missingFrom(got[key], one, childPath(path, key)),
    )
  }
  if (Array.isArray(wanted)) {
    if (!Array.isArray(got) || got.length !== wanted.length) return [{ path, wanted, got }]
    return wanted.flatMap((one: unknown, index) =>
      missingFrom(got[index], one, childPath(path, index)),
    )
  }
  return got === wanted ? [] : [{ path, wanted, got }]
}

/** Every difference between two values. `wanted` is the earlier one, `got` the later one. */
export function differences(before: unknown, after: unknown, path = ''): Difference[] {
  if (deepEqual(before, after)) return []
  if (isMapping(before) && isMapping(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...keys].flatMap((key) => differences(before[key], after[key], childPath(path, key)))
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((one: unknown, index) =>
      differences(one, after[index], childPath(path, index)),
    )
  }
  return [{ path, wanted: before, got: after }]
}

/** A value as one short line. */
export function brief(value: unknown, most = 200): string {
  if (value === undefined) return 'nothing'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > most ? `${text.slice(0, most)}...` : text
}
