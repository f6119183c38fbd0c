/**
 * Imported form: an object as it can be created in another cluster: without what a server or a controller has filled in.
 * Undefined for objects that the other cluster makes for itself.
 */
import type { KubeObject, ObjectMeta } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { labelKey } from '../../components/api/dialect.ts'
import { dialect, kindName } from './kind-name.ts'
import { isBuiltIn } from './owners.ts'

type Fields = Record<string, unknown>

const key = (subdomain: string, name: string): string => labelKey(dialect, subdomain, name)

/** Annotations that controllers write about this very cluster. */
const ownAnnotations = new Set([
  key('control-plane.alpha', 'leader'),
  key('deployment', 'revision'),
  key('pv', 'bind-completed'),
  key('pv', 'bound-by-controller'),
  key('volume.beta', 'storage-provisioner'),
  key('volume', 'selected-node'),
  key('volume', 'storage-provisioner'),
])

/** Finalizers that the controllers of any cluster add by themselves, or that only mean something while an object goes. */
const ownFinalizers = new Set([
  'foregroundDeletion',
  'orphan',
  key('', 'pv-protection'),
  key('', 'pvc-protection'),
  key('batch', 'job-tracking'),
  key('service', 'load-balancer-cleanup'),
])

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}

function importedMetadata(metadata: ObjectMeta): ObjectMeta {
  const { name, namespace, labels, annotations = {}, ownerReferences, finalizers = [] } = metadata
  const kept = Object.entries(annotations).filter(([one]) => !ownAnnotations.has(one))
  const own = finalizers.filter((text) => !ownFinalizers.has(text))
  return {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined ? {} : { labels }),
    ...(kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
    ...(own.length === 0 ? {} : { finalizers: own }),
  }
}

function specOf(object: KubeObject): Fields {
  return (object['spec'] ?? {}) as Fields
}

/** Its address is of the other cluster's range; headless Services have none. */
function service(object: KubeObject): KubeObject {
  const spec = specOf(object)
  const names = ['clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'healthCheckNodePort']
  const isHeadless = spec['clusterIP'] === 'None'
  return { ...object, spec: without(spec, isHeadless ? names : [...names, 'clusterIP']) }
}

interface Volume {
  readonly name: string
}

/** The volume of the service account's token, which admission adds (upstream: plugin/pkg/admission/serviceaccount). */
const tokenVolume = /^kube-api-access-[a-z0-9]{5}$/

function containers(list: unknown): unknown {
  return (list as Fields[]).map((container) => ({
    ...container,
    ...(Array.isArray(container['volumeMounts'])
      ? {
          volumeMounts: (container['volumeMounts'] as Volume[]).filter(
            ({ name }) => !tokenVolume.test(name),
          ),
        }
      : {}),
  }))
}

/** A pod without an owner. It is scheduled and admitted again. */
function pod(object: KubeObject): KubeObject {
  const spec = specOf(object)
  const names = ['nodeName', 'priority', 'ephemeralContainers']
  const kept = without(spec, spec['priorityClassName'] ? names : [...names, 'preemptionPolicy'])
  const volumes = ((kept['volumes'] ?? []) as Volume[]).filter(
    ({ name }) => !tokenVolume.test(name),
  )
  return {
    ...object,
    spec: {
      ...kept,
      ...(kept['volumes'] === undefined ? {} : { volumes }),
      ...(kept['containers'] === undefined ? {} : { containers: containers(kept['containers']) }),
      ...(kept['initContainers'] === undefined
        ? {}
        : { initContainers: containers(kept['initContainers']) }),
    },
  }
}

const jobLabels = [
  'controller-uid',
  'job-name',
  key('batch', 'controller-uid'),
  key('batch', 'job-name'),
]

function withoutLabels(metadata: ObjectMeta, names: readonly string[]): ObjectMeta {
  if (metadata.labels === undefined) return metadata
  return { ...metadata, labels: without(metadata.labels, names) as Record<string, string> }
}

/** Its selector is made of its uid, unless the user made it. */
function job(object: KubeObject): KubeObject {
  const spec = specOf(object)
  if (spec['manualSelector'] === true) return object
  const template = (spec['template'] ?? {}) as Fields
  const metadata = withoutLabels((template['metadata'] ?? {}) as ObjectMeta, jobLabels)
  return {
    ...object,
    metadata: withoutLabels(object.metadata, jobLabels),
    spec: { ...without(spec, ['selector']), template: { ...template, metadata } },
  }
}

/** The claim is bound by name: uids are new. */
function persistentVolume(object: KubeObject): KubeObject {
  const spec = specOf(object)
  const claim = spec['claimRef'] as Fields | undefined
  if (claim === undefined) return object
  return { ...object, spec: { ...spec, claimRef: without(claim, ['uid', 'resourceVersion']) } }
}

const withoutSpec =
  (...names: string[]) =>
  (object: KubeObject): KubeObject => ({ ...object, spec: without(specOf(object), names) })

const withoutFields =
  (...names: string[]) =>
  (object: KubeObject): KubeObject =>
    without(object as unknown as Fields, names) as unknown as KubeObject

/** An aggregated role's rules are put together from others. */
function clusterRole(object: KubeObject): KubeObject {
  return object['aggregationRule'] === undefined ? object : { ...object, rules: [] }
}

const forms: Readonly<Record<string, (object: KubeObject) => KubeObject>> = {
  services: service,
  pods: pod,
  'jobs.batch': job,
  persistentvolumes: persistentVolume,
  persistentvolumeclaims: withoutSpec('volumeName'),
  namespaces: withoutFields('spec'),
  serviceaccounts: withoutFields('secrets'),
  nodes: withoutSpec('podCIDR', 'podCIDRs'),
  'clusterroles.rbac.authorization': clusterRole,
}

function isFinished(object: KubeObject): boolean {
  const { phase, conditions = [] } = (object['status'] ?? {}) as {
    phase?: string
    conditions?: readonly { type: string; status: string }[]
  }
  if (phase === 'Succeeded' || phase === 'Failed') return true
  return conditions.some(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  )
}

const isSystemNamed = ({ metadata }: KubeObject): boolean =>
  /^system[:-]/.test(metadata.name ?? '') ||
  metadata.labels?.[key('', 'bootstrapping')] !== undefined

/** Objects that every cluster has, or that mean something in one cluster only. */
const ofEachCluster: Readonly<Record<string, (object: KubeObject) => boolean>> = {
  services: ({ metadata }) =>
    metadata.namespace === 'default' && metadata.name === dialect.apiServerService,
  configmaps: ({ metadata }) => metadata.name === dialect.rootCaConfigMap,
  secrets: (object) =>
    [key('', 'service-account-token'), key('bootstrap', 'token')].includes(String(object['type'])),
  // It would run again.
  pods: (object) =>
    isFinished(object) || object.metadata.annotations?.[key('', 'config.mirror')] !== undefined,
  'jobs.batch': isFinished,
  'clusterroles.rbac.authorization': isSystemNamed,
  'clusterrolebindings.rbac.authorization': isSystemNamed,
  'roles.rbac.authorization': isSystemNamed,
  'rolebindings.rbac.authorization': isSystemNamed,
  'priorityclasses.scheduling': isSystemNamed,
}

/** Owner references are as they were: they still name the uids of the other cluster. */
export function importedForm(object: KubeObject, resource: Resource): KubeObject | undefined {
  const name = kindName(resource)
  const isGoing = object.metadata.deletionTimestamp !== undefined
  if (isGoing || ofEachCluster[name]?.(object) === true) return undefined
  const { status, apiVersion, kind, metadata, ...rest } = object
  const bare = { apiVersion, kind, metadata: importedMetadata(metadata), ...rest } as KubeObject
  const formed = forms[name]?.(bare) ?? bare
  // The cluster may have no controller for a custom resource: its status stays as its controller last wrote it.
  const keepsStatus = status !== undefined && !isBuiltIn(object.apiVersion ?? '')
  return keepsStatus ? { ...formed, status } : formed
}
