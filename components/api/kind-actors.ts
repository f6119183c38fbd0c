/**
 * What acts on the objects of each built-in kind, by storage prefix. The garbage collector, the namespace controller and
 * admission webhooks act on every kind and are left out. The reference shows this table, and warnings follow from it.
 */
import type { FeatureGateName } from './feature-gates.ts'

export interface KindActors {
  /** Controllers of the controller manager, by the names of `--controllers`; of these only those that this release runs. */
  readonly controllers: readonly string[]
  /** Other parts of the cluster, each with what it does. */
  readonly parts: readonly string[]
  /** Whose data it is. Nothing in the cluster acts on it, as in upstream. */
  readonly storedOnly?: string
  /** What is missing for anything to act on it, and what that means: a client that creates one is warned. */
  readonly missing?: string
  /** Without this feature gate nothing acts on it, and a client that creates one is warned. */
  readonly gate?: FeatureGateName
}

const devicesGate = 'with the gate DynamicResourceAllocation'

/** `names`: of controllers, without `-controller`. */
function by(names: string, ...parts: readonly string[]): KindActors {
  const controllers = names === '' ? [] : names.split(' ').map((name) => `${name}-controller`)
  return { controllers, parts }
}

function behind(gate: FeatureGateName, part: string): KindActors {
  return { ...by('', part), gate }
}

function stored(storedOnly: string): KindActors {
  return { controllers: [], parts: [], storedOnly }
}

function missing(names: string, why: string): KindActors {
  return { ...by(names), missing: why }
}

const answers = 'API server: answers, and stores nothing'
const authorizes = 'API server: authorizes requests'
const admits = 'API server: admits or denies requests'
const changes = 'API server: changes requests, with the feature gate MutatingAdmissionPolicy'

const core: Readonly<Record<string, KindActors>> = {
  'core/bindings': by('', 'API server: binds a pod, and stores nothing'),
  'core/componentstatuses': by('', answers),
  'core/configmaps': by(
    'root-ca-certificate-publisher bootstrap-signer',
    'node agent: environment of containers',
  ),
  'core/endpoints': by('endpoints endpointslice-mirroring', 'API server: proxies to Services'),
  'core/events': by('', 'API server: deletes them after --event-ttl'),
  'core/limitranges': by('', 'API server: defaults and limits of pods and claims'),
  'core/namespaces': by('namespace serviceaccount root-ca-certificate-publisher'),
  'core/nodes': by(
    'node-ipam ttl node-lifecycle taint-eviction pod-garbage-collector',
    'scheduler: places pods',
    'node agent: reports its status',
  ),
  'core/persistentvolumeclaims': by(
    'persistentvolume-binder simulated-provisioner persistentvolume-expander persistentvolumeclaim-protection',
  ),
  'core/persistentvolumes': by(
    'persistentvolume-binder simulated-provisioner persistentvolume-protection persistentvolume-attach-detach',
  ),
  'core/pods': by(
    'taint-eviction pod-garbage-collector disruption endpoints endpointslice ephemeral-volume selinux-warning',
    'scheduler: binds it to a node',
    'node agent: runs it, simulated',
  ),
  'core/podtemplates': stored('templates for controllers of your own'),
  'core/replicationcontrollers': by('replicationcontroller'),
  'core/resourcequotas': by('resourcequota', 'API server: denies what would exceed it'),
  'core/secrets': by(
    'serviceaccount-token legacy-serviceaccount-token-cleaner token-cleaner bootstrap-signer',
    'API server: authenticates by tokens in them',
    'node agent: environment of containers',
  ),
  'core/serviceaccounts': by('serviceaccount serviceaccount-token'),
  'core/services': by(
    'endpoints endpointslice service-lb',
    'API server: gives addresses and ports',
    'node agent: environment of containers',
  ),
}

const workloads: Readonly<Record<string, KindActors>> = {
  'apps/controllerrevisions': {
    ...by('statefulset daemonset'),
    storedOnly: 'the history of StatefulSets and DaemonSets',
  },
  'apps/daemonsets': by('daemonset'),
  'apps/deployments': by('deployment disruption'),
  'apps/replicasets': by('replicaset deployment disruption'),
  'apps/statefulsets': by('statefulset'),
  'autoscaling/horizontalpodautoscalers': by('horizontal-pod-autoscaler'),
  'batch/cronjobs': by('cronjob'),
  'batch/jobs': by('job ttl-after-finished'),
  'policy/poddisruptionbudgets': by('disruption', 'API server: denies evictions'),
  'scheduling/priorityclasses': by('', 'API server: gives pods their priority'),
  'node/runtimeclasses': stored('runtimes of nodes; every pod here runs in the simulated one'),
}

const networking: Readonly<Record<string, KindActors>> = {
  'metrics/nodes': by('', 'API server: asks the node agents, and stores nothing'),
  'metrics/pods': by('', 'API server: asks the node agents, and stores nothing'),
  'discovery/endpointslices': by('endpointslice endpointslice-mirroring'),
  'networking/ingressclasses': stored('ingress controllers of your own'),
  'networking/ingresses': missing(
    '',
    'this cluster has no ingress controller of its own: unless you run one, no traffic is routed',
  ),
  'networking/ipaddresses': by(
    'service-cidr',
    'API server: records the addresses of Services, with the gate MultiCIDRServiceAllocator',
  ),
  'networking/networkpolicies': missing(
    '',
    'this cluster has no network plugin: network policies are not enforced',
  ),
  'networking/servicecidrs': by(
    'service-cidr',
    'API server: gives Services addresses of them, with the gate MultiCIDRServiceAllocator',
  ),
}

const access: Readonly<Record<string, KindActors>> = {
  'authentication/selfsubjectreviews': by('', answers),
  'authentication/tokenreviews': by('', answers),
  'authorization/localsubjectaccessreviews': by('', answers),
  'authorization/selfsubjectaccessreviews': by('', answers),
  'authorization/selfsubjectrulesreviews': by('', answers),
  'authorization/subjectaccessreviews': by('', answers),
  'certificates/certificatesigningrequests': by(
    'certificatesigningrequest-approving certificatesigningrequest-signing certificatesigningrequest-cleaner',
  ),
  'certificates/clustertrustbundles': {
    ...by('kube-apiserver-serving-clustertrustbundle-publisher'),
    storedOnly: 'pods of real nodes that project them',
  },
  'rbac/clusterrolebindings': by('', authorizes),
  'rbac/clusterroles': by('clusterrole-aggregation', authorizes),
  'rbac/rolebindings': by('', authorizes),
  'rbac/roles': by('', authorizes),
}

const extension: Readonly<Record<string, KindActors>> = {
  'admissionregistration/mutatingadmissionpolicies': behind('MutatingAdmissionPolicy', changes),
  'admissionregistration/mutatingadmissionpolicybindings': behind(
    'MutatingAdmissionPolicy',
    changes,
  ),
  'admissionregistration/mutatingwebhookconfigurations': by('', 'API server: calls webhooks'),
  'admissionregistration/validatingadmissionpolicies': by(
    '',
    admits,
    'API server: checks types of expressions',
  ),
  'admissionregistration/validatingadmissionpolicybindings': by('', admits),
  'admissionregistration/validatingwebhookconfigurations': by('', 'API server: calls webhooks'),
  'apiextensions/customresourcedefinitions': by('', 'API server: serves the kinds they define'),
  'apiregistration/apiservices': by('', 'API server: serves them, or forwards to their servers'),
  'flowcontrol/flowschemas': by('', 'API server: sorts requests'),
  'flowcontrol/prioritylevelconfigurations': by('', 'API server: queues requests'),
}

const storage: Readonly<Record<string, KindActors>> = {
  'storage/csidrivers': stored('CSI drivers of your own'),
  'storage/csinodes': stored('CSI drivers of your own'),
  'storage/csistoragecapacities': stored('CSI drivers of your own'),
  'storage/storageclasses': by('persistentvolume-binder simulated-provisioner'),
  'storage/volumeattachments': {
    ...by('persistentvolume-attach-detach'),
    storedOnly: 'CSI drivers of your own',
  },
  'storage/volumeattributesclasses': {
    ...by('volumeattributesclass-protection persistentvolume-binder'),
    storedOnly: 'CSI drivers of your own',
  },
  'resource/deviceclasses': by('', `scheduler: selects devices, ${devicesGate}`),
  'resource/resourceclaims': by(
    'resourceclaim',
    `scheduler: allocates devices and reserves them for pods, ${devicesGate}`,
  ),
  'resource/resourceclaimtemplates': by('resourceclaim'),
  'resource/resourceslices': by('', `scheduler: allocates their devices, ${devicesGate}`),
}

const coordination: Readonly<Record<string, KindActors>> = {
  'apiserverinternal/storageversions': by(
    'storageversion-garbage-collector',
    'API server: says in which versions it stores objects, with the gate StorageVersionAPI',
  ),
  'coordination/leasecandidates': stored('coordinated leader election'),
  'coordination/leases': by(
    'node-lifecycle storageversion-garbage-collector',
    'API server: tells that it runs',
    'controller manager and scheduler: elect a leader',
  ),
  'storagemigration/storageversionmigrations': by('storage-version-migrator'),
}

export const kindActors: ReadonlyMap<string, KindActors> = new Map(
  Object.entries({
    ...core,
    ...workloads,
    ...networking,
    ...access,
    ...extension,
    ...storage,
    ...coordination,
  }),
)
