/** Monitors: switches the built-in monitors on and off, and shows what they find. */
import type { ViolationRow } from '../../../protocol/live.ts'
import { info } from '../../app/live.ts'
import { monitors, switchMonitors, violationsOf } from '../../app/monitors.ts'
import { linkTo } from '../../app/router.ts'
import { Ended } from '../../parts/ended.tsx'
import { clockText } from '../../records/record-text.ts'

function Item({ row }: { readonly row: ViolationRow }) {
  const { monitor, text, atMs, revisions, writers } = row
  return (
    <li class="panel">
      <div class="panel-head">
        <h3 class="tone-bad">{monitor}</h3>
        <time class="dim">{clockText(atMs)}</time>
      </div>
      <p>{text}</p>
      {writers.length > 0 && (
        <ul class="dim">
          {writers.map((writer, index) => (
            <li key={index}>{writer}</li>
          ))}
        </ul>
      )}
      {info.value?.offers.journal === true && (
        <p class="links">
          {revisions.map((revision) => (
            <a key={revision} href={linkTo(['timeline'], { revision })}>
              Revision {revision} in Timeline
            </a>
          ))}
        </p>
      )}
    </li>
  )
}

function Found() {
  const live = monitors.value
  if (live === undefined) return null
  const rows = [...live.rows.values()]
  const violations = violationsOf(rows)
  const notes = rows.flatMap((row) => ('note' in row ? [row.note] : []))
  const total = violations[0]?.number ?? 0
  return (
    <>
      <Ended live={live} what="the cluster for its monitors" />
      <p role="status">
        {live.isWhole && live.end === undefined && total === 0 && 'On: no violation so far.'}
        {total > violations.length && `The last ${violations.length} of ${total} violations.`}
      </p>
      {violations.length > 0 && (
        <ul class="cards violations" aria-label="Violations, newest first">
          {violations.map((row) => (
            <Item key={row.key} row={row} />
          ))}
        </ul>
      )}
      {notes.length > 0 && (
        <details class="panel">
          <summary>What the monitors cannot see ({notes.length})</summary>
          <ul>
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

export function Monitors() {
  const isOn = monitors.value !== undefined
  return (
    <section aria-labelledby="monitors">
      <h2 id="monitors">Monitors</h2>
      <p class="dim">
        Rules that must hold at every moment, as <code>skiff monitor</code> has them. They stay on
        in every view until this page is closed, and read all kinds of objects with your rights.
      </p>
      <p>
        <button type="button" onClick={() => switchMonitors(!isOn)}>
          {isOn ? 'Switch monitors off' : 'Switch monitors on'}
        </button>
      </p>
      <Found />
    </section>
  )
}
