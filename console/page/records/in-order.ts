/**
 * inOrder: requests that several API servers have answered, in one order: writes by their revisions, so that no cause comes after its effect
 * whatever the servers' clocks say, and all others between them by the time of their answers. Pure.
 */
import type { RequestRecord } from '../../../components/api/request-record.ts'

interface Placed<Row> {
  readonly row: Row
  /** Infinity for what has no place among the revisions. */
  readonly revision: number
  placeMs: number
}

/** Events are what clusters put on an etcd of their own, whose revisions say nothing of others'. */
const isApart = (resource: string | undefined): boolean =>
  resource === 'events' || resource?.startsWith('events.') === true

const answeredMs = ({ atMs, durationMs }: RequestRecord): number => atMs + durationMs

function revisionOf({ revision, resource }: RequestRecord): number {
  return revision === undefined || isApart(resource) ? NaN : Number(revision)
}

/** By revision. A write was made before it was answered, and before every later write was: it is placed at the first of those answers. */
function placedWrites<Row extends RequestRecord>(rows: readonly Row[]): Placed<Row>[] {
  const writes = rows
    .map((row) => ({ row, revision: revisionOf(row), placeMs: answeredMs(row) }))
    .filter(({ revision }) => !Number.isNaN(revision))
    .sort((one, other) => one.revision - other.revision)
  let firstMs = Infinity
  for (const write of writes.toReversed()) {
    firstMs = Math.min(firstMs, write.placeMs)
    write.placeMs = firstMs
  }
  return writes
}

/** When the newest of `writes` up to the revision was made. */
function madeMs(writes: readonly Placed<unknown>[], revision: number): number {
  let [low, high] = [0, writes.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((writes[middle]?.revision ?? Infinity) <= revision) low = middle + 1
    else high = middle
  }
  return writes[low - 1]?.placeMs ?? -Infinity
}

/** Oldest first. */
export function inOrder<Row extends RequestRecord>(rows: readonly Row[]): Row[] {
  const writes = placedWrites(rows)
  const others = rows
    .filter((row) => Number.isNaN(revisionOf(row)))
    .map((row): Placed<Row> => {
      const { cause } = row
      const seen = isApart(cause?.what) ? NaN : Number(cause?.revision ?? NaN)
      const causeMs = Number.isNaN(seen) ? -Infinity : madeMs(writes, seen)
      return { row, revision: Infinity, placeMs: Math.max(answeredMs(row), causeMs) }
    })
  return [...writes, ...others]
    .sort(
      (one, other) =>
        one.placeMs - other.placeMs ||
        (one.revision === other.revision
          ? one.row.seq - other.row.seq
          : one.revision - other.revision),
    )
    .map(({ row }) => row)
}
