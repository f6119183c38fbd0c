/** drainPlan: which pods of a node a drain evicts, which it leaves, and which keep it from beginning (upstream: kubectl pkg/drain/filters.go). Pure. */
import type { Pod } from '../../../../../components/api/generated/types.ts'
import { controllerOf } from '../../../../../components/machinery/objects/object.ts'

export interface DrainChoices {
  /** Evicts pods that no controller replaces. */
  readonly force: boolean
  /** Evicts pods whose emptyDir volumes are lost with them. */
  readonly deleteEmptyDirData: boolean
}

export interface PodReason {
  /** `namespace/name`. */
  readonly key: string
  readonly why: string
}

export interface DrainPlan {
  readonly evicted: readonly Pod[]
  readonly left: readonly PodReason[]
  readonly obstacles: readonly PodReason[]
}

export const podKey = ({ metadata }: Pod): string =>
  `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`

/** Why the drain leaves the pod alone. */
function reasonToLeave(pod: Pod, mirrorAnnotation: string): string | undefined {
  if (pod.metadata?.annotations?.[mirrorAnnotation] !== undefined)
    return 'its node runs it from a file'
  const isDone = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
  // Its controller would make it again at once: DaemonSets take cordoned nodes.
  if (!isDone && controllerOf(pod)?.kind === 'DaemonSet') return 'a DaemonSet runs it on each node'
  return undefined
}

function obstaclesOf(pod: Pod, { force, deleteEmptyDirData }: DrainChoices): string[] {
  const { phase } = pod.status ?? {}
  if (phase === 'Succeeded' || phase === 'Failed') return []
  const hasEmptyDir = (pod.spec?.volumes ?? []).some(({ emptyDir }) => emptyDir !== undefined)
  return [
    ...(!force && controllerOf(pod) === undefined ? ['no controller replaces it'] : []),
    ...(!deleteEmptyDirData && hasEmptyDir ? ['its emptyDir data would be lost'] : []),
  ]
}

export function planDrain(
  pods: readonly Pod[],
  choices: DrainChoices & { readonly mirrorAnnotation: string },
): DrainPlan {
  const evicted: Pod[] = []
  const left: PodReason[] = []
  const obstacles: PodReason[] = []
  for (const pod of pods) {
    const key = podKey(pod)
    const why = reasonToLeave(pod, choices.mirrorAnnotation)
    if (why !== undefined) left.push({ key, why })
    else {
      evicted.push(pod)
      obstacles.push(...obstaclesOf(pod, choices).map((one) => ({ key, why: one })))
    }
  }
  return { evicted, left, obstacles }
}
