/** ViolationsNote: says in every view that a monitor was violated, while monitors are on. */
import { monitors, violationsOf } from '../app/monitors.ts'
import { linkTo } from '../app/router.ts'

export function ViolationsNote() {
  const live = monitors.value
  if (live === undefined) return null
  const [newest] = violationsOf(live.rows.values())
  return (
    <div role="status">
      {newest !== undefined && (
        <p class="past-note">
          {newest.number === 1 ? '1 violation' : `${newest.number} violations`} of monitors, the
          last of {newest.monitor}. <a href={linkTo(['lab'])}>Show in the Lab</a>
        </p>
      )}
    </div>
  )
}
