/**
 * New numbers: the revisions of a store that was restored. A client may hold any resourceVersion from before, also one from after the
 * backup was taken, or from after an earlier restore. All of these must be older than the history of the restored store, so that the
 * client gets 410 and lists again (KEP 4647; etcdctl snapshot restore --bump-revision).
 */

/** Revisions count from here when a store is restored. */
const beginMs = Date.UTC(2020, 0, 1)
/** More commits than any store makes in a millisecond for long: what it hands out stays below the time of the next restore. */
const perMs = 100
/** Upstream's recommendation for etcd, for a clock that was set back. */
const margin = 1_000_000_000

/** The revision after which the restored objects are numbered. `revision` is the newest in the backup. */
export function numbersAfter({
  revision,
  nowMs,
}: {
  readonly revision: number
  readonly nowMs: number
}): number {
  const byTime = Math.floor(nowMs - beginMs) * perMs
  return revision < byTime ? byTime : revision + margin
}
