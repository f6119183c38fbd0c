/** operations: what can be done with an object beside an edit, as kubectl does it. Pure. */
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'
import type { Kind } from '../kinds/kinds.ts'

export type Operation = 'scale' | 'restart' | 'drain' | 'uncordon'

/** The kinds that `kubectl rollout restart` takes. */
const restarted = new Set(['Deployment', 'StatefulSet', 'DaemonSet'])

/** In the order of the buttons. */
export function operationsOf(
  { group, kind, verbs, subresources }: Kind,
  object: KubeObject,
): Operation[] {
  const canPatch = verbs.includes('patch')
  const isNode = group === '' && kind === 'Node'
  return [
    ...(subresources.includes('scale') ? (['scale'] as const) : []),
    ...(canPatch && group === 'apps' && restarted.has(kind) ? (['restart'] as const) : []),
    ...(canPatch && isNode ? (['drain'] as const) : []),
    ...(canPatch && isNode && object['spec']?.unschedulable === true
      ? (['uncordon'] as const)
      : []),
  ]
}

/** The pod template of a workload gets the time, so its controller replaces all pods (upstream: polymorphichelpers/objectrestarter.go). */
export function restartPatch(annotation: string, nowMs: number): unknown {
  const restartedAt = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z')
  return { spec: { template: { metadata: { annotations: { [annotation]: restartedAt } } } } }
}

/** Why the object cannot be restarted; undefined when it can. */
export function restartObstacle(object: KubeObject): string | undefined {
  const isPaused = object.kind === 'Deployment' && object['spec']?.paused === true
  return isPaused ? 'The deployment is paused: remove spec.paused first.' : undefined
}

/** A count of replicas as typed; undefined for anything else. */
export function replicasOf(text: string): number | undefined {
  const count = Number(text)
  return /^\d+$/.test(text.trim()) && count <= 2 ** 31 - 1 ? count : undefined
}
