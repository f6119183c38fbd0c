/** objectState: the state of any object in a few words, from its conditions, counts and phase. Pure. */
import { podSummary } from '../../components/api/columns/pods.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { AnyCondition } from '../../cluster/why/evidence.ts'
import { conditionsOf, isTrouble } from '../../cluster/why/kinds/any-object.ts'

export type Health = 'good' | 'waiting' | 'bad' | 'unknown'

export interface ObjectState {
  readonly health: Health
  /** `Available, 3/3 ready`; '' for an object that has no state. */
  readonly text: string
}

/** Conditions that say most of an object; of those that hold, the first is shown. */
const telling = [
  'Ready',
  'Available',
  'Complete',
  'Succeeded',
  'Established',
  'Programmed',
  'Accepted',
]
const waitingPods = new Set(['Pending', 'ContainerCreating', 'PodInitializing', 'SchedulingGated'])
/** States of conditions that time mends; anything else is trouble. */
const finished = new Set(['Succeeded', 'Completed'])

function podState(pod: KubeObject): ObjectState {
  const { status, ready, total } = podSummary(pod)
  if (finished.has(status)) return { health: 'good', text: status }
  const isWaiting = waitingPods.has(status) || status.startsWith('Init:')
  if (isWaiting || status === 'Terminating') return { health: 'waiting', text: status }
  const isReady = status === 'Running' && ready === total
  const text = isReady ? status : `${status}, ${ready}/${total} ready`
  return { health: isReady ? 'good' : status === 'Running' ? 'waiting' : 'bad', text }
}

function conditionText({ type, status, reason }: AnyCondition): string {
  const value = status === 'True' ? type : `${type}=${status}`
  return reason && reason !== type ? `${value} (${reason})` : value
}

/** `2/3 ready` of whatever has replicas; undefined for the rest. */
function replicasOf({ spec, status }: KubeObject): { ready: number; wanted: number } | undefined {
  const wanted: unknown = spec?.replicas ?? status?.desiredNumberScheduled
  if (typeof wanted !== 'number') return undefined
  const ready: unknown = status?.readyReplicas ?? status?.numberReady ?? 0
  return { ready: typeof ready === 'number' ? ready : 0, wanted }
}

/** The state of a whole object; of metadata alone it is unknown. */
export function objectState(object: KubeObject): ObjectState {
  if (object.kind === 'Pod' && object['spec'] !== undefined) return podState(object)
  const conditions = conditionsOf(object)
  const troubles = conditions.filter(isTrouble)
  const best = telling
    .map((type) => conditions.find((one) => one.type === type && one.status === 'True'))
    .find((one) => one !== undefined)
  const replicas = replicasOf(object)
  const phase: unknown = object['status']?.phase
  const parts = [
    ...(best === undefined ? [] : [best.type]),
    ...troubles.map(conditionText),
    ...(replicas === undefined ? [] : [`${replicas.ready}/${replicas.wanted} ready`]),
    ...(typeof phase === 'string' && conditions.length === 0 ? [phase] : []),
  ]
  const isShort = replicas !== undefined && replicas.ready < replicas.wanted
  const isKnown = parts.length > 0
  const health = troubles.length > 0 ? 'bad' : isShort ? 'waiting' : isKnown ? 'good' : 'unknown'
  return { health, text: parts.join(', ') }
}
