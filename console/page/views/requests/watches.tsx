/** Watches: who watches what, and how far behind. */
import { useChannel } from '../../app/use-live.ts'
import { age } from '../../app/time.ts'
import { Ended } from '../../parts/ended.tsx'
import { TableFrame } from '../../parts/table-frame.tsx'
import { useNow } from '../../parts/use-now.ts'
import { actorOf, resourceOf } from '../../records/record-text.ts'

export function Watches() {
  const live = useChannel('watches')
  const nowMs = useNow(1000)
  const watches = [...live.rows.values()].toSorted(
    (one, other) => other.behind - one.behind || one.user.localeCompare(other.user),
  )
  return (
    <section aria-labelledby="watches">
      <h2 id="watches">Open watches</h2>
      <Ended live={live} what="open watches" />
      <TableFrame
        label="Table of open watches"
        columns={['User', 'Watches', 'Namespace', 'Since', 'Events', 'Behind', 'Waiting']}
      >
        {watches.map((watch) => (
          <tr key={watch.id}>
            <td title={watch.userAgent}>{actorOf(watch)}</td>
            <td>{resourceOf(watch)}</td>
            <td>{watch.namespace}</td>
            <td>{age(watch.sinceMs, nowMs)}</td>
            <td>{watch.events}</td>
            <td class={watch.behind > 0 ? 'tone-warn' : ''}>{watch.behind}</td>
            <td>{watch.waitingBytes} bytes</td>
          </tr>
        ))}
      </TableFrame>
    </section>
  )
}
