/** Columns of the core group, but for pods and services. */
import { ageOf } from '../../machinery/values/duration.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { TablePrinter } from '../../machinery/objects/table-printer.ts'
import { dialects, labelKey } from '../dialect.ts'
import { podPrinter } from './pods.ts'
import { endpointsPrinter, servicePrinter } from './services.ts'
import {
  ageColumn,
  column,
  containerColumns,
  formatLabels,
  length,
  nameColumn,
  tablePrinter,
} from './table-printer.ts'
import { volumeClaimPrinter, volumePrinter } from './volumes.ts'

const wide = true

const rolePrefixes = Object.values(dialects).map((dialect) => labelKey(dialect, 'node-role', ''))
const roleLabels = Object.values(dialects).map((dialect) => labelKey(dialect, '', 'role'))

function rolesOf(node: KubeObject): string {
  const roles = new Set<string>()
  for (const [key, value] of Object.entries(node.metadata.labels ?? {})) {
    const prefix = rolePrefixes.find((candidate) => key.startsWith(candidate))
    if (prefix !== undefined && key.length > prefix.length) roles.add(key.slice(prefix.length))
    else if (roleLabels.includes(key) && value !== '') roles.add(value)
  }
  return [...roles].sort().join(',') || '<none>'
}

function nodeStatus(node: KubeObject): string {
  const ready = (node['status']?.conditions ?? []).findLast(
    (condition: { type?: string }) => condition.type === 'Ready',
  )
  const word = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'
  return node['spec']?.unschedulable === true ? `${word},SchedulingDisabled` : word
}

function nodeAddress(node: KubeObject, type: string): string {
  return (
    (node['status']?.addresses ?? []).find((address: { type?: string }) => address.type === type)
      ?.address ?? '<none>'
  )
}

const nodePrinter = tablePrinter(
  nameColumn,
  column(['Status', 'Whether the node is ready and takes new pods.'], nodeStatus),
  column(['Roles', 'Roles that its labels give the node.'], rolesOf),
  ageColumn,
  column(
    ['Version', 'Version of the node agent.'],
    (node) => node['status']?.nodeInfo?.kubeletVersion ?? '',
  ),
  column(
    ['Internal-IP', 'Address inside the cluster.'],
    (node) => nodeAddress(node, 'InternalIP'),
    {
      wide,
    },
  ),
  column(
    ['External-IP', 'Address outside the cluster.'],
    (node) => nodeAddress(node, 'ExternalIP'),
    {
      wide,
    },
  ),
  column(
    ['OS-Image', 'Operating system of the node.'],
    (node) => node['status']?.nodeInfo?.osImage || '<unknown>',
    { wide },
  ),
  column(
    ['Kernel-Version', 'Kernel of the node.'],
    (node) => node['status']?.nodeInfo?.kernelVersion || '<unknown>',
    { wide },
  ),
  column(
    ['Container-Runtime', 'Container runtime of the node and its version.'],
    (node) => node['status']?.nodeInfo?.containerRuntimeVersion || '<unknown>',
    { wide },
  ),
)

function quotaLines(quota: KubeObject, isLimit: boolean): string {
  const { hard = {}, used = {} } = quota['status'] ?? {}
  return Object.keys(hard)
    .filter((resource) => resource.startsWith('limits.') === isLimit)
    .sort()
    .map((resource) => `${resource}: ${used[resource] ?? '0'}/${hard[resource]}`)
    .join(', ')
}

function healthOf(component: KubeObject): { status?: string; message?: string; error?: string } {
  return (
    (component['conditions'] ?? []).find(
      (condition: { type?: string }) => condition.type === 'Healthy',
    ) ?? {}
  )
}

/** The parts of an event, whichever of the two groups' forms it has. */
function eventParts(event: KubeObject) {
  const involved = event['involvedObject'] ?? event['regarding'] ?? {}
  const source = event['source'] ?? event['deprecatedSource'] ?? {}
  return {
    involved,
    first: event['firstTimestamp'] ?? event['deprecatedFirstTimestamp'] ?? event['eventTime'],
    last: event['lastTimestamp'] ?? event['deprecatedLastTimestamp'],
    count: event['series']?.count ?? (event['count'] || event['deprecatedCount'] || 1),
    component: source.component || event['reportingComponent'] || event['reportingController'],
    instance: source.host || event['reportingInstance'],
    message: String(event['message'] ?? event['note'] ?? ''),
  }
}

/** Serves both groups' events. */
export const eventPrinter = tablePrinter(
  column(['Last Seen', 'Time since it happened last.'], (event, nowMs) => {
    const { first, last } = eventParts(event)
    return ageOf(event['series'] ? event['series'].lastObservedTime : (last ?? first), nowMs)
  }),
  column(['Type', 'Normal or Warning.'], (event) => event['type'] ?? ''),
  column(['Reason', 'Why it happened, in one word.'], (event) => event['reason'] ?? ''),
  column(['Object', 'What it happened to.'], (event) => {
    const { kind = '', name } = eventParts(event).involved
    return name ? `${kind.toLowerCase()}/${name}` : kind.toLowerCase()
  }),
  column(
    ['Subobject', 'Part of the object it is about.'],
    (event) => eventParts(event).involved.fieldPath ?? '',
    { wide },
  ),
  column(
    ['Source', 'Who reports it.'],
    (event) => {
      const { component = '', instance } = eventParts(event)
      return instance ? `${component}, ${instance}` : component
    },
    { wide },
  ),
  column(['Message', 'What happened, in words.'], (event) => eventParts(event).message.trim()),
  column(
    ['First Seen', 'Time since it happened first.'],
    (event, nowMs) => ageOf(eventParts(event).first, nowMs),
    { wide },
  ),
  column(['Count', 'How often it happened.'], (event) => eventParts(event).count, { wide }),
  column(['Name', nameColumn.column.description], nameColumn.cell, { wide, format: 'name' }),
)

export const corePrinters: Readonly<Record<string, TablePrinter>> = {
  componentstatuses: tablePrinter(
    nameColumn,
    column(['Status', 'Whether the component is healthy.'], (component) => {
      const { status } = healthOf(component)
      return status === undefined ? 'Unknown' : status === 'True' ? 'Healthy' : 'Unhealthy'
    }),
    column(['Message', 'What its health check says.'], (object) => healthOf(object).message ?? ''),
    column(['Error', 'Why its health check failed.'], (object) => healthOf(object).error ?? ''),
  ),
  configmaps: tablePrinter(
    nameColumn,
    column(
      ['Data', 'Number of entries.'],
      (map) => Object.keys(map['data'] ?? {}).length + Object.keys(map['binaryData'] ?? {}).length,
    ),
    ageColumn,
  ),
  endpoints: endpointsPrinter,
  events: eventPrinter,
  namespaces: tablePrinter(
    nameColumn,
    column(['Status', 'Phase of the namespace.'], (object) => object['status']?.phase ?? ''),
    ageColumn,
  ),
  nodes: nodePrinter,
  persistentvolumeclaims: volumeClaimPrinter,
  persistentvolumes: volumePrinter,
  pods: podPrinter,
  podtemplates: tablePrinter(
    nameColumn,
    ...containerColumns((object) => object['template'], false),
    column(['Pod Labels', 'Labels that pods of the template get.'], (object) =>
      formatLabels(object['template']?.metadata?.labels),
    ),
  ),
  replicationcontrollers: tablePrinter(
    nameColumn,
    column(['Desired', 'Pods there should be.'], (object) => object['spec']?.replicas ?? 1, {
      type: 'integer',
    }),
    column(['Current', 'Pods there are.'], (object) => object['status']?.replicas ?? 0, {
      type: 'integer',
    }),
    column(['Ready', 'Pods that are ready.'], (object) => object['status']?.readyReplicas ?? 0, {
      type: 'integer',
    }),
    ageColumn,
    ...containerColumns((object) => object['spec']?.template),
    column(
      ['Selector', 'Labels of the pods it counts.'],
      (object) => formatLabels(object['spec']?.selector),
      { wide },
    ),
  ),
  resourcequotas: tablePrinter(
    nameColumn,
    column(['Request', 'Use and bound of each resource.'], (quota) => quotaLines(quota, false)),
    column(['Limit', 'Use and bound of the sums of limits.'], (quota) => quotaLines(quota, true)),
    ageColumn,
  ),
  secrets: tablePrinter(
    nameColumn,
    column(['Type', 'What kind of data it holds.'], (secret) => secret['type'] ?? ''),
    column(['Data', 'Number of entries.'], (secret) => Object.keys(secret['data'] ?? {}).length),
    ageColumn,
  ),
  serviceaccounts: tablePrinter(
    nameColumn,
    column(['Secrets', 'Number of secrets it may use.'], (account) => length(account['secrets'])),
    ageColumn,
  ),
  services: servicePrinter,
}
