/** The chain: the filters every request takes, in visit order, and the function that joins them. */
import type { Filter, Next } from './request.ts'

/** Joins filters so that the first listed is visited first; `last` is the router. */
export function compose(filters: readonly Filter[], last: Next): Next {
  return filters.reduceRight<Next>((next, filter) => (context) => filter(context, next), last)
}
