/** tones: which colour says how a pod or a node is. Pure. */
import type { SlimNode, SlimPod } from '../../../protocol/live.ts'

export type Tone = 'good' | 'accent' | 'warn' | 'bad' | 'dim'

const failures =
  /^(?:Error|Failed|.*BackOff|.*Err.*|OOMKilled|Evicted|Unknown|ContainerStatusUnknown|Init:Error)$/

export function podTone({ status, ready }: Pick<SlimPod, 'status' | 'ready'>): Tone {
  if (status === 'Running') return ready ? 'good' : 'warn'
  if (status === 'Completed' || status === 'Succeeded') return 'dim'
  if (failures.test(status)) return 'bad'
  return status === 'Terminating' ? 'warn' : 'accent'
}

export function nodeTone({ ready, trouble, unschedulable }: SlimNode): Tone {
  if (ready !== 'True') return 'bad'
  return trouble.length > 0 || unschedulable ? 'warn' : 'good'
}

/**
 * How alive a node looks, from 1 to 0.25, by the age of its lease since the page saw the last renewal, as the node lifecycle
 * controller counts: it never compares timestamps of other clocks.
 */
export function liveliness(ageMs: number | undefined, leaseMs = 40_000): number {
  if (ageMs === undefined) return 1
  return Math.max(0.25, 1 - 0.75 * Math.max(0, (ageMs - leaseMs / 4) / (leaseMs * 0.75)))
}
