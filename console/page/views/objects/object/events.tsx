/** ObjectEvents: Kubernetes Events about an object, the newest first. */
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { Ended } from '../../../parts/ended.tsx'
import { age } from '../../../app/time.ts'
import { cellText } from '../list/shown-rows.ts'
import { useRows } from '../list/use-rows.ts'

const mostShown = 100

export function ObjectEvents({
  object,
  nowMs,
}: {
  readonly object: KubeObject
  readonly nowMs: number
}) {
  const { namespace = 'default', uid = '' } = object.metadata
  const path = `/api/v1/namespaces/${namespace}/events`
  const events = useRows({ path, fieldSelector: `involvedObject.uid=${uid}` }, true)
  const index = (name: string): number => events.columns.findIndex((column) => column.name === name)
  const [type, reason, message] = [index('Type'), index('Reason'), index('Message')]
  const rows = [...events.rows.values()]
    .toSorted((a, b) => ((a.created ?? '') < (b.created ?? '') ? 1 : -1))
    .slice(0, mostShown)
  return (
    <section>
      <h2>Events</h2>
      <Ended live={{ ...events, changed: undefined }} what="events" />
      {events.isWhole && events.end === undefined && rows.length === 0 && (
        <p class="empty">There are no events about it.</p>
      )}
      {rows.length > 0 && (
        <div class="scroll" role="region" aria-label="Events" tabIndex={0}>
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">First seen</th>
                <th scope="col">Type</th>
                <th scope="col">Reason</th>
                <th scope="col">Message</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.key} class={events.marks.glow(row.key) > 0 ? 'glow-odd' : undefined}>
                  <td>{row.created === undefined ? '' : age(Date.parse(row.created), nowMs)}</td>
                  <td class={cellText(row, type) === 'Warning' ? 'tone-warn' : undefined}>
                    {cellText(row, type)}
                  </td>
                  <td>{cellText(row, reason)}</td>
                  <td class="wrap">{cellText(row, message)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}
