/** Requests: a live stream of requests with the decisions of authentication and authorization, denied ones first; and who watches what. */
import { useState } from 'preact/hooks'
import type { RequestRecord } from '../../../../components/api/request-record.ts'
import { info } from '../../app/live.ts'
import { Ended } from '../../parts/ended.tsx'
import { Bars } from '../../records/bars.tsx'
import { isDenied, isHeartbeat, matches } from '../../records/record-filter.ts'
import { RecordDetails } from '../../records/record-details.tsx'
import { RecordList } from '../../records/record-list.tsx'
import { ratesOf, type Rates } from '../../records/rates.ts'
import { MissingJournals } from '../../records/missing-journals.tsx'
import { useRecords } from '../../records/use-records.ts'
import { useNow } from '../../parts/use-now.ts'
import { Watches } from './watches.tsx'

const seconds = 60
const mostShown = 200
const mostDenied = 20

function Figures({ rates }: { readonly rates: Rates }) {
  const { perSecond, p50, p99, failed, total } = rates
  const text = `${total} requests in the last minute, ${failed} failed`
  return (
    <div class="rates">
      <Bars values={perSecond} label={`Requests a second: ${text}`} />
      <p>
        <strong>{total}</strong> in the last minute
        {failed > 0 && <span class="tone-warn"> · {failed} failed</span>}
        {p50 !== undefined && (
          <span class="dim">
            {' '}
            · median {p50} ms, 99th percentile {p99} ms
          </span>
        )}
      </p>
    </div>
  )
}

interface Choice {
  readonly chosen: number | undefined
  readonly onChoose: (seq: number | undefined) => void
}

function Lists({ shown, ...choice }: Choice & { readonly shown: readonly RequestRecord[] }) {
  const denied = shown.filter(isDenied).slice(0, mostDenied)
  const asLines = (records: readonly RequestRecord[]) => records.map((record) => ({ record }))
  return (
    <>
      {denied.length > 0 && (
        <section class="denied">
          <h2>Denied</h2>
          <RecordList label="Denied requests" lines={asLines(denied)} {...choice} />
        </section>
      )}
      <h2>Newest first</h2>
      <RecordList label="Requests" lines={asLines(shown.slice(0, mostShown))} {...choice} />
    </>
  )
}

function WithJournal() {
  const { live, records } = useRecords()
  const [words, setWords] = useState('')
  const [withHeartbeats, setWithHeartbeats] = useState(false)
  const [chosen, setChosen] = useState<number>()
  const nowMs = useNow(1000)
  const shown = records
    .filter((record) => (withHeartbeats || !isHeartbeat(record)) && matches(record, words))
    .toReversed()
  const record = chosen === undefined ? undefined : live.rows.get(String(chosen))
  return (
    <>
      <Ended live={live} what="requests" />
      <MissingJournals />
      <Figures rates={ratesOf(records, { nowMs, seconds })} />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Filter{' '}
          <input
            type="search"
            value={words}
            onInput={({ currentTarget }) => setWords(currentTarget.value)}
          />
        </label>
        <label>
          <input
            type="checkbox"
            checked={withHeartbeats}
            onChange={({ currentTarget }) => setWithHeartbeats(currentTarget.checked)}
          />{' '}
          Heartbeats and events
        </label>
      </form>
      <div class={record === undefined ? 'with-details' : 'with-details has-details'}>
        <div>
          <Lists shown={shown} chosen={chosen} onChoose={setChosen} />
          <Watches />
        </div>
        {record !== undefined && (
          <aside class="panel" aria-label="Request">
            <RecordDetails record={record} />
          </aside>
        )}
      </div>
    </>
  )
}

export function RequestsView() {
  const missing = info.value?.missing['journal']
  return (
    <>
      <h1>Requests</h1>
      {missing === undefined ? (
        <WithJournal />
      ) : (
        <p class="empty">No requests to show: {missing}.</p>
      )}
    </>
  )
}
