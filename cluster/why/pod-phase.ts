/** Phases of pods (upstream: pkg/api/v1/pod/util.go IsPodPhaseTerminal). Pure. */
import type { KubeObject } from '../../components/machinery/objects/object.ts'

/** Whether the pod has ended, one way or the other. */
export function isOver(pod: KubeObject): boolean {
  const phase: unknown = pod['status']?.phase
  return phase === 'Succeeded' || phase === 'Failed'
}
