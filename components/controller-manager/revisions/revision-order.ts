/** Numbers of ControllerRevisions: which is the newest, which ones a history has no room for (upstream: pkg/controller/history). Pure. */
import type { ControllerRevision } from '../../api/generated/types.ts'

function createdMs({ metadata }: ControllerRevision): number {
  return Date.parse(metadata.creationTimestamp ?? '') || 0
}

function byRevision(a: ControllerRevision, b: ControllerRevision): number {
  const names = (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1
  return a.revision - b.revision || createdMs(a) - createdMs(b) || names
}

/** Oldest first. */
export function sortRevisions(revisions: readonly ControllerRevision[]): ControllerRevision[] {
  return revisions.toSorted(byRevision)
}

/** The number of a revision that is newer than all of these. */
export function nextRevision(revisions: readonly ControllerRevision[]): number {
  return revisions.reduce((highest, { revision }) => Math.max(highest, revision), 0) + 1
}

/** The `count` oldest of those that nothing uses. */
export function oldestUnused(
  revisions: readonly ControllerRevision[],
  isUsed: (revision: ControllerRevision) => boolean,
  count: number,
): ControllerRevision[] {
  const unused = sortRevisions(revisions).filter((revision) => !isUsed(revision))
  return unused.slice(0, Math.max(0, count))
}
