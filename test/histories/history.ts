/** History: all that clients saw of some objects, and the commits that the store tells of them. */
import { Commits } from './commits.ts'
import type { ListOperation, Operation, Outcome } from './operation.ts'
import { RealTime } from './real-time.ts'

/** What a watch showed, in its order. A bookmark says that everything up to its revision has been shown. */
export type WatchItem =
  | {
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
      readonly key: string
      readonly revision: number
      readonly value: string
    }
  | { readonly type: 'BOOKMARK'; readonly revision: number }

/** A watch of all keys. */
export interface WatchRecord {
  readonly client: string
  readonly server: string
  /** It shows what was committed after this revision. */
  readonly from: number
  readonly items: readonly WatchItem[]
}

export interface History {
  readonly operations: readonly Operation[]
  readonly lists: readonly ListOperation[]
  readonly watches: readonly WatchRecord[]
  readonly commits: Commits
}

/** The revision that an answer names. */
export function revisionOf(outcome: Outcome): number | undefined {
  return 'revision' in outcome ? outcome.revision : undefined
}

/** What consistent answers say about which revisions were there when. */
export function realTimeOf({ operations, lists }: History): RealTime {
  const ofOperations = operations.flatMap(({ callMs, returnMs, outcome }) => {
    const revision = revisionOf(outcome)
    if (revision === undefined) return []
    return [{ callMs, returnMs, revision, isCommit: outcome.result === 'written' }]
  })
  const ofLists = lists.map(({ callMs, returnMs, revision }) => {
    return { callMs, returnMs, revision, isCommit: false }
  })
  return new RealTime([...ofOperations, ...ofLists])
}
