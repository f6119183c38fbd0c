/** PodVerdict: why one pod waits. */
import { info } from '../../app/live.ts'
import { at } from '../../app/time.ts'
import { useExplanation } from './use-explanation.ts'
import { VerdictTable } from './verdict-table.tsx'
import type { WaitingPod } from './waiting-pods.ts'

export function PodVerdict({ pod }: { readonly pod: WaitingPod }) {
  const missing = info.value?.missing['control']
  const isPast = at.value !== undefined
  const { explanation, fault } = useExplanation(missing || isPast ? undefined : pod.key)
  const { key, queue, message, attempts, nominatedNode, priority } = pod
  return (
    <aside class="panel" aria-label={`Pod ${key}`}>
      <h2>{key}</h2>
      <dl class="facts">
        <dt>Queue</dt>
        <dd>{queue}</dd>
        {message !== '' && <dt>Last attempt</dt>}
        {message !== '' && <dd>{message}</dd>}
        <dt>Failed attempts</dt>
        <dd>{attempts} in events</dd>
        <dt>Priority</dt>
        <dd>{priority}</dd>
        {nominatedNode !== undefined && <dt>Nominated</dt>}
        {nominatedNode !== undefined && <dd>{nominatedNode}</dd>}
      </dl>
      {missing !== undefined && (
        <p class="empty">The verdict of each node needs the scheduler itself: {missing}.</p>
      )}
      {isPast && <p class="empty">The scheduler answers for the present alone.</p>}
      {fault !== undefined && <p class="tone-warn">{fault}</p>}
      {explanation !== undefined && <VerdictTable explanation={explanation} />}
    </aside>
  )
}
