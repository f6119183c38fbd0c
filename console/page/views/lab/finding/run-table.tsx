/** RunTable: the timelines of the reference and of the plan beside each other. */
import { Fragment } from 'preact'
import { useRef } from 'preact/hooks'
import { firstDifference, isDifferent } from './first-difference.ts'
import type { FindingLine, FindingRow } from './read-finding.ts'

function Line({ line }: { readonly line: FindingLine | undefined }) {
  if (line === undefined) return <span class="dim">nothing</span>
  const { atMs, text, isMark, status, fault } = line
  return (
    <>
      <span class="dim">{(atMs / 1000).toFixed(2)} s</span>{' '}
      {isMark ? <strong>{text}</strong> : text}
      {!isMark && <span class="dim"> {status ?? 'no answer'}</span>}
      {fault !== undefined && <span class="tone-warn"> fault: {fault}</span>}
    </>
  )
}

export function RunTable({ rows }: { readonly rows: readonly FindingRow[] }) {
  const mark = useRef<HTMLTableRowElement>(null)
  const first = firstDifference(rows)
  const show = (): void => {
    mark.current?.scrollIntoView({ block: 'center' })
    mark.current?.focus({ preventScroll: true })
  }
  return (
    <>
      {first === undefined ? (
        <p>Both runs did the same.</p>
      ) : (
        <button type="button" onClick={show}>
          Show the first difference
        </button>
      )}
      <table class="runs">
        <caption>
          Time since the start of each run. Lines of the same text stand beside each other.
        </caption>
        <thead>
          <tr>
            <th scope="col">Reference, without faults</th>
            <th scope="col">Plan</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <Fragment key={index}>
              {index === first && (
                <tr class="first-difference" ref={mark} tabIndex={-1}>
                  <td colSpan={2}>First difference</td>
                </tr>
              )}
              <tr class={isDifferent(row) ? 'differs' : undefined}>
                <td>
                  <Line line={row.reference} />
                </td>
                <td>
                  <Line line={row.plan} />
                </td>
              </tr>
            </Fragment>
          ))}
        </tbody>
      </table>
    </>
  )
}
