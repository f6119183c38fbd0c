/** slimEvent: an Event of either group (core, events) as a row. Pure. */
import { keyOf, type KubeObject } from '../../components/machinery/objects/object.ts'
import type { SlimEvent } from '../protocol/live.ts'

/** Messages may have a kilobyte each; a row shows one line. */
const mostMessage = 300

/** When it last happened; 0 when it does not say. */
function atMsOf(event: KubeObject): number {
  const times: readonly unknown[] = [
    event['series']?.lastObservedTime,
    event['lastTimestamp'] ?? event['deprecatedLastTimestamp'],
    event['eventTime'],
    event['firstTimestamp'] ?? event['deprecatedFirstTimestamp'],
    event.metadata.creationTimestamp,
  ]
  for (const time of times) {
    const atMs = typeof time === 'string' ? Date.parse(time) : Number.NaN
    if (!Number.isNaN(atMs)) return atMs
  }
  return 0
}

function regardingOf(event: KubeObject): string {
  const about = event['involvedObject'] ?? event['regarding'] ?? {}
  const { kind = '', namespace, name = '' } = about
  return `${kind} ${namespace ? `${namespace}/${name}` : name}`
}

export function slimEvent(event: KubeObject): SlimEvent {
  const message = String(event['message'] ?? event['note'] ?? '').trim()
  return {
    key: keyOf(event),
    atMs: atMsOf(event),
    type: String(event['type'] ?? ''),
    reason: String(event['reason'] ?? ''),
    regarding: regardingOf(event),
    message: message.length > mostMessage ? `${message.slice(0, mostMessage)}…` : message,
    count: event['series']?.count ?? (event['count'] || event['deprecatedCount'] || 1),
  }
}
