/** summary: the cluster in figures. Pure. */
import type { SlimNode, SlimPod } from '../../../protocol/live.ts'
import { podTone, type Tone } from './tones.ts'

export interface Figures {
  readonly nodes: number
  readonly readyNodes: number
  readonly pods: number
  readonly waitingPods: number
  /** Status -> how many pods, the most frequent first. */
  readonly statuses: readonly {
    readonly status: string
    readonly count: number
    readonly tone: Tone
  }[]
}

export function figuresOf(nodes: Iterable<SlimNode>, pods: Iterable<SlimPod>): Figures {
  let [all, ready, total, waiting] = [0, 0, 0, 0]
  const counts = new Map<string, { count: number; tone: Tone }>()
  for (const node of nodes) {
    all += 1
    if (node.ready === 'True') ready += 1
  }
  for (const pod of pods) {
    total += 1
    if (pod.node === '') waiting += 1
    const tone = podTone(pod)
    const status = pod.status === 'Running' && !pod.ready ? 'Running, not ready' : pod.status
    const entry = counts.get(status)
    if (entry === undefined) counts.set(status, { count: 1, tone })
    else entry.count += 1
  }
  const statuses = [...counts]
    .map(([status, { count, tone }]) => ({ status, count, tone }))
    .toSorted((one, other) => other.count - one.count || one.status.localeCompare(other.status))
  return { nodes: all, readyNodes: ready, pods: total, waitingPods: waiting, statuses }
}

/** One sentence for screen readers. */
export function spoken({ nodes, readyNodes, pods, waitingPods }: Figures): string {
  const without = waitingPods === 0 ? '' : `, ${waitingPods} without a node`
  return `${readyNodes} of ${nodes} nodes Ready, ${pods} pods${without}`
}
