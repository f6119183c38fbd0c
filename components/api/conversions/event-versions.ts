/** Events of the core group and of events.k8s.io: the same object with other field names (upstream: pkg/apis/core/v1, events/v1). */
import type { KubeObject } from '../../machinery/objects/object.ts'

/** Core name -> name in the events group. All other fields have the same name in both. */
const renamed: Readonly<Record<string, string>> = {
  involvedObject: 'regarding',
  message: 'note',
  source: 'deprecatedSource',
  firstTimestamp: 'deprecatedFirstTimestamp',
  lastTimestamp: 'deprecatedLastTimestamp',
  count: 'deprecatedCount',
  reportingComponent: 'reportingController',
}

const renamedBack = Object.fromEntries(Object.entries(renamed).map(([a, b]) => [b, a]))

function rename(object: KubeObject, names: Readonly<Record<string, string>>): KubeObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [names[name] ?? name, value as unknown]),
  ) as unknown as KubeObject
}

export function eventToEventsGroup(object: KubeObject): KubeObject {
  return rename(object, renamed)
}

export function eventFromEventsGroup(object: KubeObject): KubeObject {
  return rename(object, renamedBack)
}
