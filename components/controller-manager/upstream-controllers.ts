/**
 * The controllers of upstream's kube-controller-manager 1.32 (upstream: cmd/kube-controller-manager/names, NewControllerDescriptors):
 * `--controllers` accepts all of their names, also of those that do not run here.
 */
import type { ControllerEntry } from './controller-context.ts'

export interface UpstreamController extends Pick<
  ControllerEntry,
  'name' | 'aliases' | 'defaultOn'
> {
  /** Why it does nothing in upstream without further settings. */
  readonly whyIdle?: string
}

const cloud = 'it needs a cloud provider; clusters here have none'

/** `name` or `name alias`. */
function on(names: string, whyIdle?: string): UpstreamController {
  const [name = '', ...aliases] = names.split(' ')
  return { name, aliases, defaultOn: true, ...(whyIdle === undefined ? {} : { whyIdle }) }
}

function off(names: string, whyIdle?: string): UpstreamController {
  return { ...on(names, whyIdle), defaultOn: false }
}

export const upstreamControllers: readonly UpstreamController[] = [
  off('bootstrap-signer-controller bootstrapsigner'),
  on('certificatesigningrequest-approving-controller csrapproving'),
  on('certificatesigningrequest-cleaner-controller csrcleaner'),
  on('certificatesigningrequest-signing-controller csrsigning'),
  on('cloud-node-lifecycle-controller cloud-node-lifecycle', cloud),
  on('clusterrole-aggregation-controller clusterrole-aggregation'),
  on('cronjob-controller cronjob'),
  on('daemonset-controller daemonset'),
  on('deployment-controller deployment'),
  on('disruption-controller disruption'),
  on('endpoints-controller endpoint'),
  on('endpointslice-controller endpointslice'),
  on('endpointslice-mirroring-controller endpointslicemirroring'),
  on('ephemeral-volume-controller ephemeral-volume'),
  on('garbage-collector-controller garbagecollector'),
  on('horizontal-pod-autoscaler-controller horizontalpodautoscaling'),
  on('job-controller job'),
  on('kube-apiserver-serving-clustertrustbundle-publisher-controller'),
  on('legacy-serviceaccount-token-cleaner-controller legacy-service-account-token-cleaner'),
  on('namespace-controller namespace'),
  on('node-ipam-controller nodeipam'),
  on('node-lifecycle-controller nodelifecycle'),
  on('node-route-controller route', cloud),
  on('persistentvolume-attach-detach-controller attachdetach'),
  on('persistentvolume-binder-controller persistentvolume-binder'),
  on('persistentvolume-expander-controller persistentvolume-expander'),
  on('persistentvolume-protection-controller pv-protection'),
  on('persistentvolumeclaim-protection-controller pvc-protection'),
  on('pod-garbage-collector-controller podgc'),
  on('replicaset-controller replicaset'),
  on('replicationcontroller-controller replicationcontroller'),
  on('resourceclaim-controller resource-claim-controller'),
  on('resourcequota-controller resourcequota'),
  on('root-ca-certificate-publisher-controller root-ca-cert-publisher'),
  off('selinux-warning-controller'),
  on('service-cidr-controller'),
  on('service-lb-controller service', cloud),
  on('serviceaccount-controller serviceaccount'),
  on('serviceaccount-token-controller serviceaccount-token'),
  on('statefulset-controller statefulset'),
  on('storage-version-migrator-controller svm'),
  on('storageversion-garbage-collector-controller storage-version-gc'),
  on('taint-eviction-controller'),
  off('token-cleaner-controller tokencleaner'),
  on('ttl-after-finished-controller ttl-after-finished'),
  on('ttl-controller ttl'),
  on('validatingadmissionpolicy-status-controller', 'the API server does its work'),
  on('volumeattributesclass-protection-controller'),
]

/** One of upstream's that does not run here, and why. */
export interface AbsentController extends Pick<
  UpstreamController,
  'name' | 'aliases' | 'defaultOn'
> {
  readonly why: string
}

/** Upstream's controllers that are not among `present`. */
export function absentControllers(
  present: readonly Pick<ControllerEntry, 'name'>[],
): AbsentController[] {
  const names = new Set(present.map(({ name }) => name))
  return upstreamControllers
    .filter(({ name }) => !names.has(name))
    .map(({ whyIdle, ...entry }) => ({
      ...entry,
      why: whyIdle ?? 'this release does not have it',
    }))
}
