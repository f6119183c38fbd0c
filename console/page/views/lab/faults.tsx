/** Faults: those of the cluster with their counters, and how to end them. */
import type { FaultRow } from '../../../protocol/live.ts'
import { sendTo } from '../../app/api.ts'
import { age } from '../../app/time.ts'
import { useChannel } from '../../app/use-live.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ended } from '../../parts/ended.tsx'
import { TableFrame } from '../../parts/table-frame.tsx'
import { useNow } from '../../parts/use-now.ts'
import { FaultForm } from './fault-form.tsx'

/** More rows tell no more. */
const mostEnded = 20

const endTexts = { times: 'used up', time: 'its time is over', healed: 'healed' }

/** What is left of it: `2 times, 30s`. */
export function leftText({ times, untilMs, fired }: FaultRow, nowMs: number): string {
  const left = [
    ...(times === undefined ? [] : [`${Math.max(0, times - fired)} times`]),
    ...(untilMs === undefined ? [] : [age(nowMs, untilMs)]),
  ]
  return left.length === 0 ? 'until healed' : left.join(', ')
}

async function heal(name?: string): Promise<void> {
  const one = name === undefined ? '' : `/${encodeURIComponent(name)}`
  await sendTo(`/lab/faults${one}`, { method: 'DELETE' })
}

function Row({ row, nowMs }: { readonly row: FaultRow; readonly nowMs: number }) {
  const { name, kind, text, fired, ended } = row
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{kind}</td>
      <td>{text}</td>
      <td class={fired === 0 ? 'tone-warn' : ''}>
        {fired}
        {fired === 0 && (
          <div>{ended === undefined ? 'has matched nothing so far' : 'never fired'}</div>
        )}
      </td>
      <td>{ended === undefined ? leftText(row, nowMs) : endTexts[ended]}</td>
      <td>
        {ended === undefined && <ActionButton label={`Heal ${name}`} send={() => heal(name)} />}
      </td>
    </tr>
  )
}

export function Faults({ isFixed }: { readonly isFixed: boolean }) {
  const live = useChannel('faults')
  const nowMs = useNow()
  const rows = [...live.rows.values()]
  const active = rows.filter(({ ended }) => ended === undefined)
  const over = rows.filter(({ ended }) => ended !== undefined).toReversed()
  return (
    <section aria-labelledby="faults">
      <h2 id="faults">Faults</h2>
      <Ended live={live} what="faults" />
      {live.isWhole && rows.length === 0 && <p class="empty">No faults.</p>}
      {rows.length > 0 && (
        <TableFrame
          label="Table of faults"
          columns={['Name', 'Kind', 'What', 'Fired', 'Left', 'Actions']}
        >
          {[...active, ...over.slice(0, mostEnded)].map((row) => (
            <Row key={row.key} {...{ row, nowMs }} />
          ))}
        </TableFrame>
      )}
      {active.length > 1 && <ActionButton label="Heal all faults" send={() => heal()} />}
      <details class="panel">
        <summary>Add a fault</summary>
        <FaultForm isFixed={isFixed} />
      </details>
    </section>
  )
}
