/** RoomBars: quotas and budgets as bars. */
import { Ended } from '../../parts/ended.tsx'
import type { LiveRows } from '../../app/live.ts'
import type { Room } from './room.ts'

interface RoomBarsProps {
  readonly title: string
  readonly rooms: readonly Room[]
  readonly live: LiveRows<unknown>
}

export function RoomBars({ title, rooms, live }: RoomBarsProps) {
  const isRead = live.isWhole && live.end === undefined
  return (
    <section class="panel" aria-label={title}>
      <h2>{title}</h2>
      <Ended live={live} what={title.toLowerCase()} />
      {isRead && rooms.length === 0 && <p class="empty">The cluster has none.</p>}
      <ul class="plain">
        {rooms.map(({ key, title: name, label, text, share, tone }) => (
          <li key={key}>
            <strong>{name}</strong> <span class="dim">{label}</span>
            <div
              class="room"
              role="meter"
              aria-label={`${name} ${label}`}
              aria-valuemin={0}
              aria-valuemax={100}
              aria-valuenow={Math.round(share * 100)}
              aria-valuetext={text}
            >
              <div class={`room-used tone-${tone}`} style={{ width: `${share * 100}%` }} />
            </div>
            <span class="dim">{text}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
