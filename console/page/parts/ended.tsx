/** Ended: what takes the place of rows that the viewer may not see, or that do not exist. */
import type { LiveRows } from '../app/live.ts'

export function Ended({ live, what }: { readonly live: LiveRows<unknown>; readonly what: string }) {
  const { end, isWhole } = live
  if (end !== undefined) {
    return (
      <p class="empty" role="status">
        {end.code === 403 ? `You may not see ${what}: ` : ''}
        {end.message}
      </p>
    )
  }
  return isWhole ? null : (
    <p class="empty" role="status">
      Reading {what}
    </p>
  )
}
