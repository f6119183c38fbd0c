/** Which changes of a Service concern its load balancer, and the events about them (upstream: cloud-provider service needsUpdate). Pure. */
import type { Service } from '../../api/generated/types.ts'
import type { RecordedEvent } from '../../client/event-recorder.ts'
import { deepEqual } from '../../machinery/objects/object.ts'

/** Another controller serves Services of a class. */
export function wantsLoadBalancer({ spec }: Service): boolean {
  return spec?.type === 'LoadBalancer' && spec.loadBalancerClass === undefined
}

/** A value as Go's %v shows it. */
function shown(value: string | number | readonly string[] | undefined): string {
  if (typeof value === 'object') return `[${value.join(' ')}]`
  return value === undefined ? '' : String(value)
}

const portFields = ['name', 'protocol', 'port', 'nodePort', 'targetPort'] as const

function portsOf({ spec }: Service): unknown[][] {
  return (spec?.ports ?? []).map((port) => portFields.map((field) => port[field]))
}

const shownFields = [
  ['LoadBalancerSourceRanges', 'loadBalancerSourceRanges', []],
  ['LoadbalancerIP', 'loadBalancerIP', ''],
  ['ExternalTrafficPolicy', 'externalTrafficPolicy', ''],
  ['HealthCheckNodePort', 'healthCheckNodePort', 0],
] as const

/** The events about the change; undefined when it does not concern the load balancer. */
export function changesOf(old: Service, now: Service): RecordedEvent[] | undefined {
  const [had, wants] = [wantsLoadBalancer(old), wantsLoadBalancer(now)]
  if (!had && !wants) return undefined
  const event = (reason: string, message: string): RecordedEvent => ({
    type: 'Normal',
    reason,
    message,
  })
  if (had !== wants) return [event('Type', `${shown(old.spec?.type)} -> ${shown(now.spec?.type)}`)]
  const events = shownFields.flatMap(([reason, field, none]) => {
    const [before, after] = [old.spec?.[field] ?? none, now.spec?.[field] ?? none]
    return deepEqual(before, after) ? [] : [event(reason, `${shown(before)} -> ${shown(after)}`)]
  })
  const [before, after] = [old.spec?.externalIPs ?? [], now.spec?.externalIPs ?? []]
  if (before.length !== after.length)
    events.push(event('ExternalIP', `Count: ${before.length} -> ${after.length}`))
  else {
    const added = after.find((address, index) => address !== before[index])
    if (added !== undefined) events.push(event('ExternalIP', `Added: ${added}`))
  }
  if (old.metadata.uid !== now.metadata.uid)
    events.push(event('UID', `${old.metadata.uid} -> ${now.metadata.uid}`))
  const isSame =
    deepEqual(portsOf(old), portsOf(now)) &&
    old.spec?.sessionAffinity === now.spec?.sessionAffinity &&
    deepEqual(old.spec?.sessionAffinityConfig, now.spec?.sessionAffinityConfig) &&
    deepEqual(old.metadata.annotations, now.metadata.annotations)
  return events.length === 0 && isSame ? undefined : events
}
