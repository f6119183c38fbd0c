/** story: which write led to which, by the causes that components name. Pure. */
import type { RequestRecord } from '../../../components/api/request-record.ts'
import { keyOf, resourceOf } from './record-text.ts'

export interface StoryLine {
  readonly record: RequestRecord
  /** How far from the beginning. */
  readonly depth: number
}

/** Records further from the beginning are left out. */
const mostLines = 500

function revisionsOf({ revision, revisions }: RequestRecord): readonly string[] {
  return revisions ?? (revision === undefined ? [] : [revision])
}

/** Revisions of resources with a store of their own may collide. */
const keyOfRevision = (resource: string, revision: string): string => `${resource} ${revision}`

/** Seq of a record -> the record whose write it reacted to. A cause that is older than the journal has none. */
export function causesOf(records: readonly RequestRecord[]): Map<number, RequestRecord> {
  const byRevision = new Map<string, RequestRecord>()
  for (const record of records) {
    for (const revision of revisionsOf(record))
      byRevision.set(keyOfRevision(resourceOf(record), revision), record)
  }
  const causes = new Map<number, RequestRecord>()
  for (const record of records) {
    const { cause } = record
    if (cause?.kind !== 'watch' || cause.revision === undefined) continue
    const origin = byRevision.get(keyOfRevision(cause.what, cause.revision))
    if (origin === undefined || origin === record) continue
    if (origin.name === '' || keyOf(origin) === cause.key) causes.set(record.seq, origin)
  }
  return causes
}

/** The whole story that a record is part of: its first cause, and everything that followed from that, each below its cause. */
export function storyOf(records: readonly RequestRecord[], seq: number): StoryLine[] {
  const causes = causesOf(records)
  let first = records.find((record) => record.seq === seq)
  // Clients name their causes as they like: a circle has no beginning.
  const seen = new Set<RequestRecord>()
  for (let next = first; next !== undefined && !seen.has(next); next = causes.get(next.seq)) {
    seen.add(next)
    first = next
  }
  if (first === undefined) return []
  const effects = new Map<number, RequestRecord[]>()
  for (const record of records) {
    const origin = causes.get(record.seq)
    if (origin !== undefined) {
      effects.set(origin.seq, [...(effects.get(origin.seq) ?? []), record])
    }
  }
  const lines: StoryLine[] = []
  const told = new Set<RequestRecord>()
  const tell = (record: RequestRecord, depth: number): void => {
    if (lines.length >= mostLines || told.has(record)) return
    told.add(record)
    lines.push({ record, depth })
    for (const effect of effects.get(record.seq) ?? []) tell(effect, depth + 1)
  }
  tell(first, 0)
  return lines
}
