/**
 * Versions that earlier releases stored and that are served no more: how each becomes the form that is stored now
 * (upstream: the conversions of pkg/apis and apiextensions-apiserver).
 */
import { labelKey, type Dialect } from '../dialect.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { autoscalerFromV2beta1 } from './autoscaler-versions.ts'
import { eventFromEventsGroup } from './event-versions.ts'
import { customResourceDefinitionFromV1beta1 } from './custom-resource-definition.ts'
import { concurrencySharesFromBeta, levelFromV1beta3 } from './flow-control.ts'
import { endpointSliceFromV1beta1, ingressFromV1beta1 } from './networking.ts'
import { daemonSetFromBeta, deploymentFromBeta, statefulSetFromBeta } from './workloads.ts'

type Convert = (object: KubeObject, dialect: Dialect) => KubeObject
type Kinds = Readonly<Record<string, Convert>>

const same: Convert = (object) => object

function all(...kinds: readonly string[]): Kinds {
  return Object.fromEntries(kinds.map((kind) => [kind, same]))
}

interface Webhooks {
  readonly webhooks?: readonly Record<string, unknown>[] | null
}

/** The defaults that v1beta1 had; v1 has others. */
const webhookDefaults = {
  failurePolicy: 'Ignore',
  matchPolicy: 'Exact',
  sideEffects: 'Unknown',
  timeoutSeconds: 30,
  admissionReviewVersions: ['v1beta1'],
}

function webhooksFromV1beta1(object: KubeObject): KubeObject {
  const webhooks = ((object as Webhooks).webhooks ?? []).map((webhook) => ({
    ...webhookDefaults,
    ...webhook,
  }))
  return { ...object, webhooks }
}

/** An empty selector chose no pod in v1beta1, and chooses all of them in v1. */
function budgetFromV1beta1(object: KubeObject, dialect: Dialect): KubeObject {
  const spec = (object['spec'] ?? {}) as Record<string, unknown>
  const { selector } = spec
  const isEmpty =
    typeof selector === 'object' && selector !== null && Object.keys(selector).length === 0
  if (!isEmpty) return object
  const key = labelKey(dialect, 'pdb', 'deprecated-v1beta1-empty-selector-match')
  return {
    ...object,
    spec: { ...spec, selector: { matchExpressions: [{ key, operator: 'Exists' }] } },
  }
}

function signingRequestFromV1beta1(object: KubeObject, dialect: Dialect): KubeObject {
  const defaults = {
    signerName: labelKey(dialect, '', 'legacy-unknown'),
    usages: ['digital signature', 'key encipherment'],
  }
  return { ...object, spec: { ...defaults, ...(object['spec'] as object | undefined) } }
}

const workloads: Kinds = {
  ...all('ControllerRevision', 'ReplicaSet'),
  DaemonSet: daemonSetFromBeta,
  Deployment: deploymentFromBeta,
  StatefulSet: statefulSetFromBeta,
}

/** Old package -> kind -> conversion. A kind that is not here was never stored in that version, or has no replacement. */
export const olderKinds: Readonly<Record<string, Kinds>> = {
  'admissionregistration/v1beta1': {
    MutatingWebhookConfiguration: webhooksFromV1beta1,
    ValidatingWebhookConfiguration: webhooksFromV1beta1,
  },
  'apiextensions/v1beta1': { CustomResourceDefinition: customResourceDefinitionFromV1beta1 },
  'apiregistration/v1beta1': all('APIService'),
  'apps/v1beta1': workloads,
  'apps/v1beta2': workloads,
  'autoscaling/v2beta1': { HorizontalPodAutoscaler: autoscalerFromV2beta1 },
  'autoscaling/v2beta2': all('HorizontalPodAutoscaler'),
  'batch/v1beta1': all('CronJob'),
  'certificates/v1beta1': { CertificateSigningRequest: signingRequestFromV1beta1 },
  'coordination/v1beta1': all('Lease'),
  'discovery/v1beta1': { EndpointSlice: endpointSliceFromV1beta1 },
  'events/v1beta1': { Event: eventFromEventsGroup },
  'extensions/v1beta1': { ...workloads, ...all('NetworkPolicy'), Ingress: ingressFromV1beta1 },
  'flowcontrol/v1beta1': {
    ...all('FlowSchema'),
    PriorityLevelConfiguration: concurrencySharesFromBeta,
  },
  'flowcontrol/v1beta2': {
    ...all('FlowSchema'),
    PriorityLevelConfiguration: concurrencySharesFromBeta,
  },
  'flowcontrol/v1beta3': { ...all('FlowSchema'), PriorityLevelConfiguration: levelFromV1beta3 },
  'networking/v1beta1': { ...all('IngressClass'), Ingress: ingressFromV1beta1 },
  'node/v1beta1': all('RuntimeClass'),
  'policy/v1beta1': { PodDisruptionBudget: budgetFromV1beta1 },
  'rbac/v1beta1': all('Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding'),
  'scheduling/v1beta1': all('PriorityClass'),
  'storage/v1alpha1': all('CSIStorageCapacity', 'VolumeAttachment'),
  'storage/v1beta1': all(
    'CSIDriver',
    'CSINode',
    'CSIStorageCapacity',
    'StorageClass',
    'VolumeAttachment',
  ),
}
