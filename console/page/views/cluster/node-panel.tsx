/** NodePanel: one node in words, and its pods. */
import { linkTo } from '../../app/router.ts'
import type { SlimNode, SlimPod } from '../../../protocol/live.ts'
import { nodeTone, podTone } from './tones.ts'

/** More pods than this are in the list of pods of the Objects view. */
const mostShown = 250

interface NodePanelProps {
  readonly node: SlimNode
  readonly pods: readonly SlimPod[]
  readonly heartbeatAgeMs: number | undefined
  readonly selectedPod: string | undefined
  readonly onSelectPod: (key: string | undefined) => void
  readonly onClose: () => void
}

function amount(bytes: number): string {
  const gib = bytes / 2 ** 30
  return gib >= 1 ? `${gib.toFixed(gib < 10 ? 1 : 0)} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`
}

function Facts({
  node,
  pods,
  heartbeatAgeMs,
}: Pick<NodePanelProps, 'node' | 'pods' | 'heartbeatAgeMs'>) {
  const { ready, trouble, taints, unschedulable, maxPods, cpuMilli, memoryBytes } = node
  const states = [`Ready: ${ready}`, ...trouble, ...(unschedulable ? ['cordoned'] : [])]
  const beat =
    heartbeatAgeMs === undefined ? 'no lease' : `${Math.round(heartbeatAgeMs / 1000)} s ago`
  return (
    <dl class="facts">
      <dt>Conditions</dt>
      <dd class={`tone-${nodeTone(node)}`}>{states.join(', ')}</dd>
      <dt>Heartbeat</dt>
      <dd>{beat}</dd>
      <dt>Room</dt>
      <dd>
        {pods.length} of {maxPods} pods; {cpuMilli / 1000} CPUs, {amount(memoryBytes)} allocatable
      </dd>
      <dt>Taints</dt>
      <dd>
        {taints.length === 0 ? 'none' : taints.map((taint) => <code key={taint}>{taint} </code>)}
      </dd>
    </dl>
  )
}

export function NodePanel(props: NodePanelProps) {
  const { node, pods, selectedPod, onSelectPod, onClose } = props
  return (
    <aside class="panel" aria-label={`Node ${node.name}`}>
      <div class="panel-head">
        <h2>{node.name}</h2>
        <a href={linkTo(['objects', 'core', 'v1', 'nodes', '-', node.name])}>Object</a>
        <button type="button" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </div>
      <Facts {...props} />
      <ul class="pods" aria-label="Pods of the node">
        {pods.slice(0, mostShown).map((pod) => (
          <li key={pod.uid}>
            <button
              type="button"
              aria-pressed={pod.key === selectedPod}
              onClick={() => onSelectPod(pod.key === selectedPod ? undefined : pod.key)}
            >
              <span class={`dot tone-${podTone(pod)}`} aria-hidden="true" />
              <span class="pod-name">{pod.key}</span>
              <span class="dim">{pod.status}</span>
            </button>
          </li>
        ))}
      </ul>
      {pods.length > mostShown && <p class="dim">and {pods.length - mostShown} more pods</p>}
    </aside>
  )
}
