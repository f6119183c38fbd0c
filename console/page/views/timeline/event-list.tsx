/** EventList: the cluster's Events, newest first, where there is no journal. */
import { useChannel } from '../../app/use-live.ts'
import { Ended } from '../../parts/ended.tsx'
import { clockText } from '../../records/record-text.ts'

const mostShown = 300

export function EventList() {
  const live = useChannel('events')
  const events = [...live.rows.values()].toSorted((one, other) => other.atMs - one.atMs)
  return (
    <>
      <Ended live={live} what="events" />
      <ul class="records" aria-label="Events, newest first">
        {events.slice(0, mostShown).map((event) => (
          <li key={event.key} class="record">
            <time class="dim">{clockText(event.atMs)}</time>
            <span class={event.type === 'Warning' ? 'tone-warn' : ''}>{event.reason}</span>
            <strong>{event.regarding}</strong>
            <span class="what">{event.message}</span>
            {event.count > 1 && <span class="dim">{event.count} times</span>}
          </li>
        ))}
      </ul>
    </>
  )
}
