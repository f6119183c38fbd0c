/** Invariant: a rule that no cluster may break, as a monitor's rule or as one that gives lines of text. */
import type { Change } from '../../monitors/change.ts'
import type { Finding } from '../../monitors/monitor.ts'

/** Finds violations of one rule in a history. It is given all changes of the watched kinds in the order of their revisions. */
export interface Invariant {
  readonly name: string
  /** Violations that this change shows, each as one line that names objects and revisions. */
  take(change: Change): string[]
}

/** What a rule finds, as lines. */
export const linesOf = (found: readonly (Finding | string)[]): string[] =>
  found.map((one) => (typeof one === 'string' ? one : one.text))
