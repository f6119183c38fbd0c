/** Evidence: objects, conditions and events in the form of findings. Pure. */
import type { Event } from '../../components/api/generated/types.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { Evidence, ObjectName } from './finding.ts'
import type { Related } from './related.ts'

/** What all kinds of conditions have. */
export interface AnyCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
}

/** As many events as a finding shows. */
const mostEvents = 3

/** An API object as the generated types or a client give it. */
export type AnyObject = Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>

export function nameOf({ apiVersion, kind = '', metadata }: AnyObject): ObjectName {
  const { namespace, name = '' } = metadata
  return {
    ...(apiVersion === undefined ? {} : { apiVersion }),
    kind,
    ...(namespace ? { namespace } : {}),
    name,
  }
}

export function seen(object: AnyObject, text: string, time?: string): Evidence {
  return { source: 'object', object: nameOf(object), text, ...(time ? { time } : {}) }
}

export function conditionText({ type, status, reason, message }: AnyCondition): string {
  const why = [reason ? ` (${reason})` : '', message ? `: ${message}` : ''].join('')
  return `${type} is ${status}${why}`
}

export function conditionSeen(object: AnyObject, condition: AnyCondition): Evidence {
  const { lastTransitionTime: time } = condition
  const text = conditionText(condition)
  return { source: 'condition', object: nameOf(object), text, ...(time ? { time } : {}) }
}

export function conditionOf(
  object: { readonly status?: { readonly conditions?: readonly AnyCondition[] } },
  type: string,
): AnyCondition | undefined {
  return object.status?.conditions?.find((one) => one.type === type)
}

/** The object's conditions of these types, as evidence. */
export function conditionsSeen(
  object: AnyObject & { readonly status?: { readonly conditions?: readonly AnyCondition[] } },
  ...types: readonly string[]
): Evidence[] {
  return types.flatMap((type) => {
    const condition = conditionOf(object, type)
    return condition === undefined ? [] : [conditionSeen(object, condition)]
  })
}

/** When the event last happened; '' when it does not say. */
export function timeOf(event: Event): string {
  const { series, lastTimestamp, eventTime, firstTimestamp, metadata } = event
  const times = [series?.lastObservedTime, lastTimestamp, eventTime, firstTimestamp]
  return times.find((time) => Boolean(time)) ?? metadata.creationTimestamp ?? ''
}

/** Agents and old clients name a node by its name where others name its uid. */
function isAbout({ involvedObject: about }: Event, { kind, metadata }: AnyObject): boolean {
  const { uid, name, namespace = '' } = metadata
  if (about.kind !== kind || about.name !== name) return false
  if ((about.namespace ?? '') !== namespace && namespace !== '') return false
  return !about.uid || !uid || about.uid === uid || about.uid === name
}

/** The events about an object, the newest first; of some reasons, or all. */
export function eventsAbout(
  { events }: Pick<Related, 'events'>,
  object: AnyObject,
  reasons?: readonly string[],
): Event[] {
  return events
    .filter((event) => isAbout(event, object))
    .filter(({ reason }) => reasons === undefined || reasons.includes(reason ?? ''))
    .toSorted((a, b) => Date.parse(timeOf(b)) - Date.parse(timeOf(a)))
}

function eventSeen(object: AnyObject, event: Event): Evidence {
  const { reason = '', message = '' } = event
  const count = event.series?.count ?? event.count ?? 1
  const time = timeOf(event)
  return {
    source: 'event',
    object: nameOf(object),
    text: `${reason}: ${message}`,
    ...(time ? { time } : {}),
    ...(count > 1 ? { count } : {}),
  }
}

/** The newest events of these reasons as evidence. */
export function eventsSeen(
  related: Pick<Related, 'events'>,
  object: AnyObject,
  reasons?: readonly string[],
): Evidence[] {
  const newest = eventsAbout(related, object, reasons).slice(0, mostEvents)
  return newest.map((event) => eventSeen(object, event))
}

/** The newest warnings about an object. */
export function warningsSeen(related: Pick<Related, 'events'>, object: AnyObject): Evidence[] {
  const warnings = eventsAbout(related, object).filter(({ type }) => type === 'Warning')
  return warnings.slice(0, mostEvents).map((event) => eventSeen(object, event))
}
