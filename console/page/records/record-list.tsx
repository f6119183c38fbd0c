/** RecordList: requests as rows; one can be chosen. */
import type { RequestRecord } from '../../../components/api/request-record.ts'
import { actorOf, causeText, clockText, targetOf, verbOf } from './record-text.ts'

interface RecordListProps {
  readonly label: string
  readonly lines: readonly { readonly record: RequestRecord; readonly depth?: number }[]
  readonly chosen: number | undefined
  readonly onChoose: (seq: number | undefined) => void
}

function tone(status: number): string {
  if (status >= 500) return 'tone-bad'
  return status >= 400 ? 'tone-warn' : 'tone-good'
}

export function RecordList({ label, lines, chosen, onChoose }: RecordListProps) {
  return (
    <ul class="records" aria-label={label}>
      {lines.map(({ record, depth = 0 }) => (
        <li key={record.seq}>
          <button
            type="button"
            class="record"
            aria-pressed={record.seq === chosen}
            style={{ paddingInlineStart: `${8 + depth * 20}px` }}
            onClick={() => onChoose(record.seq === chosen ? undefined : record.seq)}
          >
            <time class="dim">{clockText(record.atMs)}</time>
            <span class={`status ${tone(record.status)}`}>{record.status}</span>
            <strong class="actor">{actorOf(record)}</strong>
            <span class="what">
              {verbOf(record)} {targetOf(record)}
            </span>
            {record.cause !== undefined && <span class="dim cause">{causeText(record.cause)}</span>}
            {record.fault !== undefined && <span class="tone-warn">fault {record.fault}</span>}
            <span class="dim took">{record.durationMs} ms</span>
          </button>
        </li>
      ))}
    </ul>
  )
}
