/** The text of an object's selectable fields, where it is more than the value at the field's path. */
import type { KubeObject } from '../machinery/objects/object.ts'
import type { Resource } from '../machinery/objects/resource.ts'

type Fields = Readonly<Record<string, (object: KubeObject) => string>>

/** Names of the events group, read from the stored form, which is the core group's. */
const regarding: Fields = Object.fromEntries(
  ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map((name) => [
    `regarding.${name}`,
    (event: KubeObject) => String(event['involvedObject']?.[name] ?? ''),
  ]),
)

const eventFields: Fields = {
  ...regarding,
  reportingController: (event) => String(event['reportingComponent'] ?? ''),
  source: (event) => event['source']?.component || (event['reportingComponent'] ?? ''),
}

/** By storage prefix, which no custom resource shares. */
const computed: Readonly<Record<string, Fields>> = {
  'core/events': eventFields,
  'core/nodes': { 'spec.unschedulable': (node) => String(node['spec']?.unschedulable ?? false) },
  'core/pods': {
    'spec.hostNetwork': (pod) => String(pod['spec']?.hostNetwork ?? false),
    // Selectable by name, but upstream never gives it a value.
    'status.podIPs': () => '',
  },
  'batch/jobs': { 'status.successful': (job) => String(job['status']?.succeeded ?? 0) },
  'apps/replicasets': { 'status.replicas': replicas },
  'core/replicationcontrollers': { 'status.replicas': replicas },
}

/** By storage prefix. */
const indexedFields: Readonly<Record<string, string>> = { 'core/pods': 'spec.nodeName' }

/** The field by whose value objects are found without a look at all of them (upstream: each strategy's Indexers). */
export function indexedFieldOf(resource: Pick<Resource, 'storagePrefix'>): string | undefined {
  return indexedFields[resource.storagePrefix]
}

function replicas(object: KubeObject): string {
  return String(object['status']?.replicas ?? 0)
}

/** What a field selector compares with: the field's value as text, '' when it is absent. */
export function selectableFieldValue(
  resource: Resource,
  object: KubeObject,
  field: string,
): string {
  if (field === 'metadata.name') return object.metadata.name ?? ''
  if (field === 'metadata.namespace') return object.metadata.namespace ?? ''
  const special = computed[resource.storagePrefix]?.[field]
  if (special !== undefined) return special(object)
  let value: unknown = object
  for (const name of field.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return ''
    value = (value as Record<string, unknown>)[name]
  }
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'boolean':
      return String(value)
    default:
      return ''
  }
}
