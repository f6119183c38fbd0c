/** PastNote: says that the page shows the past, and leads back. */
import { at, showAt } from '../app/time.ts'

export function PastNote() {
  if (at.value === undefined) return null
  return (
    <p class="past-note" role="status">
      As of revision {at.value}. Changes are possible only in the present.{' '}
      <button type="button" onClick={() => showAt(undefined)}>
        Back to now
      </button>
    </p>
  )
}
