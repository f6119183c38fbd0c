/** Scheduling: pods that wait and why, preemption, and the room that quotas and budgets leave. */
import type {
  Pod,
  PodDisruptionBudget,
  ResourceQuota,
} from '../../../../components/api/generated/types.ts'
import type { SlimEvent } from '../../../protocol/live.ts'
import type { LiveRows } from '../../app/live.ts'
import { goTo, place } from '../../app/router.ts'
import { age } from '../../app/time.ts'
import { useChannel } from '../../app/use-live.ts'
import { Ended } from '../../parts/ended.tsx'
import { useNow } from '../../parts/use-now.ts'
import { useObjects } from '../../parts/use-objects.ts'
import { PodVerdict } from './pod-verdict.tsx'
import { RoomBars } from './room-bars.tsx'
import { budgetRooms, quotaRooms } from './room.ts'
import { waitingPods, type WaitingPod } from './waiting-pods.ts'

const mostPreemptions = 20
const tones = { gated: 'dim', nominated: 'accent', unschedulable: 'warn', queued: 'good' } as const

interface WaitingListProps {
  readonly pods: readonly WaitingPod[]
  readonly chosen: string | undefined
}

function WaitingList({ pods, chosen }: WaitingListProps) {
  const nowMs = useNow(1000)
  return (
    <ul class="records" aria-label="Pods that wait">
      {pods.map(({ key, state, queue, createdMs }) => (
        <li key={key}>
          <button
            type="button"
            class="record"
            aria-pressed={key === chosen}
            onClick={() => goTo(['scheduling', ...(key === chosen ? [] : key.split('/'))])}
          >
            <span class="dim">{age(createdMs, nowMs)}</span>
            <strong>{key}</strong>
            <span class={`tone-${tones[state]}`}>{state}</span>
            <span class="dim">{queue}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

function Preemptions({ live }: { readonly live: LiveRows<SlimEvent> }) {
  const shown = [...live.rows.values()]
    .filter(({ reason }) => reason === 'Preempted')
    .toSorted((one, other) => other.atMs - one.atMs)
    .slice(0, mostPreemptions)
  return (
    <section class="panel" aria-label="Preemptions">
      <h2>Preemptions</h2>
      <Ended live={live} what="events" />
      {shown.length === 0 && live.isWhole && live.end === undefined && (
        <p class="empty">None in the events.</p>
      )}
      <ul class="plain">
        {shown.map(({ key, regarding, message }) => (
          <li key={key}>
            <strong>{regarding}</strong> <span class="dim">{message}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

export function SchedulingView() {
  const unbound = useObjects<Pod>({ path: '/api/v1/pods', fieldSelector: 'spec.nodeName=' })
  const quotas = useObjects<ResourceQuota>({ path: '/api/v1/resourcequotas' })
  const budgets = useObjects<PodDisruptionBudget>({ path: '/apis/policy/v1/poddisruptionbudgets' })
  const events = useChannel('events')
  const [, namespace, name] = place.value.parts
  const key = name === undefined ? undefined : `${namespace}/${name}`
  const pods = waitingPods(unbound.items, events.rows.values())
  const chosen = pods.find((pod) => pod.key === key)
  const isRead = unbound.live.isWhole && unbound.live.end === undefined
  return (
    <>
      <h1>Scheduling</h1>
      <div class={chosen === undefined ? 'with-details' : 'with-details has-details verdict-frame'}>
        <section aria-label="Queue">
          <Ended live={unbound.live} what="pods" />
          {isRead && pods.length === 0 && <p class="empty">Every pod has a node.</p>}
          {unbound.isCut && <p class="dim">The first {unbound.items.length}; there are more.</p>}
          {key !== undefined && chosen === undefined && isRead && (
            <p class="empty" role="status">
              {key} does not wait any more.
            </p>
          )}
          <WaitingList pods={pods} chosen={key} />
        </section>
        {chosen !== undefined && <PodVerdict pod={chosen} />}
      </div>
      <div class="cards">
        <Preemptions live={events} />
        <RoomBars title="Quotas" rooms={quotaRooms(quotas.items)} live={quotas.live} />
        <RoomBars
          title="Disruption budgets"
          rooms={budgetRooms(budgets.items)}
          live={budgets.live}
        />
      </div>
    </>
  )
}
