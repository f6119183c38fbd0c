/** Join: how nodes come into the cluster, step by step, and what stops them. */
import { info } from '../../app/live.ts'
import { at } from '../../app/time.ts'
import { useChannel } from '../../app/use-live.ts'
import { useNow } from '../../parts/use-now.ts'
import { useRecords } from '../../records/use-records.ts'
import { Credentials } from './credentials.tsx'
import { JoinCard } from './join-card.tsx'
import { joinsOf } from './joins.ts'
import { useJoinFacts } from './use-join-facts.ts'

export function JoinView() {
  const { records } = useRecords()
  const nodes = useChannel('nodes')
  const { facts, fault } = useJoinFacts(records)
  const nowMs = useNow(1000)
  const noJournal = info.value?.missing['journal']
  const joins = joinsOf(records, facts?.csrs ?? [], nodes.rows, nowMs)
  return (
    <>
      <h1>Join</h1>
      {at.value !== undefined && <p class="empty">This view shows the present.</p>}
      {noJournal !== undefined && (
        <p class="empty">
          Only certificate requests and nodes: {noJournal}. Failed attempts and times are missing.
        </p>
      )}
      {fault !== undefined && <p class="tone-bad">{fault}</p>}
      <div class="join-frame">
        <section aria-label="Nodes that join">
          {facts?.notRead.length === 0 && joins.length === 0 && (
            <p class="empty">
              No node has joined with a bootstrap token as far as the journal and certificate
              requests reach back. Add one in the <a href="#/lab">Lab</a>, or with skiff join.
            </p>
          )}
          <ul class="joins">
            {joins.map((join) => (
              <JoinCard key={join.key} join={join} />
            ))}
          </ul>
        </section>
        {facts !== undefined && <Credentials facts={facts} nowMs={nowMs} />}
      </div>
    </>
  )
}
