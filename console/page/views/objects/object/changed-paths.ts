/** changedPaths: the fields in which two versions of an object differ. Pure. */

const separator = '\u0000'

/** A path as one text, for sets. */
export function pathKey(path: readonly string[]): string {
  return path.join(separator)
}

/** `spec.template.0.image`: a path for people. */
export function pathText(key: string): string {
  return key.split(separator).join('.')
}

const isBranch = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** Every write changes these. */
const ignored = new Set(['metadata\u0000resourceVersion', 'metadata\u0000managedFields'])

/** Keys of the deepest fields that were added, removed or set; an added branch is one of them, not each field in it. */
export function changedPaths(before: unknown, after: unknown): Set<string> {
  const found = new Set<string>()
  const compare = (a: unknown, b: unknown, path: readonly string[]): void => {
    if (a === b || ignored.has(pathKey(path))) return
    if (!isBranch(a) || !isBranch(b) || Array.isArray(a) !== Array.isArray(b)) {
      found.add(pathKey(path))
      return
    }
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)]))
      compare(a[key], b[key], [...path, key])
  }
  compare(before, after, [])
  return found
}
