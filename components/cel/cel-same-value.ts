/** Equality of two values at run time, where functions compare the items of lists. */
import { isCelList } from '@bufbuild/cel'

export function sameValue(a: unknown, b: unknown): boolean {
  if (isCelList(a) && isCelList(b)) {
    const others = [...b]
    return a.size === b.size && [...a].every((item, i) => sameValue(item, others[i]))
  }
  if (typeof a === 'bigint' && typeof b === 'number') return Number(a) === b
  if (typeof a === 'number' && typeof b === 'bigint') return a === Number(b)
  return a === b
}
