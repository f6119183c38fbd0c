/** jsonPatchBetween: the JSON patch (RFC 6902) that makes one value of another. */
import { differences, type ValuePath } from '../objects/differences.ts'

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/** A JSON pointer (RFC 6901). */
function pointer(path: ValuePath): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Operations in an order in which they apply; none for equal values. Lists of another length are replaced as a whole. */
export function jsonPatchBetween(before: unknown, after: unknown): JsonPatchOperation[] {
  return differences(before, after).map((one) => {
    const path = pointer(one.path)
    if (one.after === undefined) return { op: 'remove', path }
    return { op: one.before === undefined ? 'add' : 'replace', path, value: one.after }
  })
}
