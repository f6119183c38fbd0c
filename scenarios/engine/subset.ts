/** Subset: whether an object contains the wanted fields. */
import { childPath } from '../../components/machinery/objects/differences.ts'

/** What is not as wanted. */
export interface Lack {
  /** `spec.containers[0].image`; empty for the whole value. */
  readonly path: string
  readonly wanted: unknown
  readonly got: unknown
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The differences between `wanted` and `got`. Mappings in `got` may have more fields, a wanted null means absent, and lists must
 * have equal length and match item by item.
 */
export function missingFrom(got: unknown, wanted: unknown, path = ''): Lack[] {
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
