/** Timeline: every write with who made it, its diff, and what caused it; a story follows causes to their effects. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { info, type LiveRows } from '../../app/live.ts'
import { place } from '../../app/router.ts'
import { at, showAt } from '../../app/time.ts'
import { Ended } from '../../parts/ended.tsx'
import { isHeartbeat, matches } from '../../records/record-filter.ts'
import { RecordDetails } from '../../records/record-details.tsx'
import { RecordList } from '../../records/record-list.tsx'
import { storyOf } from '../../records/story.ts'
import { MissingJournals } from '../../records/missing-journals.tsx'
import { useRecords } from '../../records/use-records.ts'
import type { RequestRecord } from '../../../../components/api/request-record.ts'
import { Diff } from './diff.tsx'
import { EventList } from './event-list.tsx'
import { Scrubber } from './scrubber.tsx'

const mostShown = 300

function Chosen({
  record,
  onStory,
  isStory,
}: {
  readonly record: RequestRecord
  readonly onStory: () => void
  readonly isStory: boolean
}) {
  const { revision } = record
  return (
    <aside class="panel" aria-label="Write">
      <div class="actions">
        <button type="button" aria-pressed={isStory} onClick={onStory}>
          Story
        </button>
        {revision !== undefined && (
          <button
            type="button"
            aria-pressed={at.value === revision}
            onClick={() => showAt(at.value === revision ? undefined : revision)}
          >
            Show this moment
          </button>
        )}
      </div>
      <RecordDetails record={record} />
      {revision !== undefined && <Diff record={record} />}
    </aside>
  )
}

/** The request that made the revision. */
function madeBy(records: readonly RequestRecord[], wanted: string): RequestRecord | undefined {
  return records.find(
    ({ revision, revisions }) => revision === wanted || revisions?.includes(wanted) === true,
  )
}

/** Chooses the write of the revision that the page's place names, as soon as it is there. */
function useLinked(records: readonly RequestRecord[], choose: (seq: number) => void) {
  const wanted = place.value.query.get('revision')
  const linked = useMemo(
    () => (wanted === null ? undefined : madeBy(records, wanted)),
    [records, wanted],
  )
  useEffect(() => {
    if (linked !== undefined) choose(linked.seq)
  }, [linked?.seq])
  return { wanted, linked }
}

function Unknown({
  revision,
  live,
}: {
  readonly revision: string
  readonly live: Pick<LiveRows<unknown>, 'isWhole' | 'end'>
}) {
  if (!live.isWhole || live.end !== undefined) return null
  return (
    <p class="tone-warn" role="status">
      The journal has no write of revision {revision}, or no longer.
    </p>
  )
}

function WithJournal() {
  const { live, records } = useRecords()
  const [words, setWords] = useState('')
  const [chosen, setChosen] = useState<number>()
  const [story, setStory] = useState<number>()
  const writes = records.filter((record) => record.revision !== undefined && !isHeartbeat(record))
  const shown = writes.filter((record) => matches(record, words)).toReversed()
  const lines =
    story === undefined
      ? shown.slice(0, mostShown).map((record) => ({ record }))
      : storyOf(writes, story)
  const { wanted, linked } = useLinked(records, setChosen)
  const record = chosen === undefined ? undefined : live.rows.get(String(chosen))
  return (
    <>
      <Ended live={live} what="the timeline" />
      <MissingJournals />
      <Scrubber writes={writes} />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Filter{' '}
          <input
            type="search"
            value={words}
            placeholder="object, kind or actor"
            onInput={({ currentTarget }) => setWords(currentTarget.value)}
          />
        </label>
        {story !== undefined && (
          <button type="button" onClick={() => setStory(undefined)}>
            All writes
          </button>
        )}
      </form>
      {wanted !== null && linked === undefined && <Unknown revision={wanted} live={live} />}
      {shown.length === 0 && live.isWhole && live.end === undefined && (
        <p class="empty">No write yet.</p>
      )}
      <div class={record === undefined ? 'with-details' : 'with-details has-details'}>
        <RecordList
          label={
            story === undefined ? 'Writes, newest first' : 'Story, each effect below its cause'
          }
          lines={lines}
          chosen={chosen}
          onChoose={setChosen}
        />
        {record !== undefined && (
          <Chosen
            record={record}
            isStory={story !== undefined}
            onStory={() => setStory(story === undefined ? record.seq : undefined)}
          />
        )}
      </div>
    </>
  )
}

export function TimelineView() {
  const missing = info.value?.missing['journal']
  return (
    <>
      <h1>Timeline</h1>
      {missing === undefined ? (
        <WithJournal />
      ) : (
        <>
          <p class="empty">Writes and their causes cannot be shown: {missing}. Events stand in.</p>
          <EventList />
        </>
      )}
    </>
  )
}
