/** The default ClusterRoles `system:controller:<name>` of release 1.32, each bound to the service account of that name. */
import type { FeatureGates } from '../feature-gates.ts'
import { gatedControllerRoles } from './gated-controller-roles.ts'
import type { RoleTable } from './rule-text.ts'
import { eventsRule } from './rule-text.ts'

/** The roles of all controllers that these gates leave on. */
export function controllerRolesWith(gates: FeatureGates): RoleTable {
  const gated = gatedControllerRoles.filter((role) => role.gates.every((name) => gates[name]))
  return {
    ...controllerRoles,
    ...Object.fromEntries(gated.map(({ name, rules }) => [name, rules])),
  }
}

/** Of these no controller is behind a gate. */
export const controllerRoles: RoleTable = {
  'attachdetach-controller': [
    'list,watch core persistentvolumeclaims,persistentvolumes',
    'read core nodes',
    'patch,update core nodes/status',
    'list,watch core pods',
    eventsRule,
    'create,delete,get,list,watch storage volumeattachments',
    'read storage csidrivers',
    'read storage csinodes',
  ],
  'certificate-controller': [
    'delete,get,list,watch certificates certificatesigningrequests',
    'update certificates certificatesigningrequests/approval,certificatesigningrequests/status',
    'approve certificates signers {label}/kube-apiserver-client-kubelet',
    'sign certificates signers {label}/kube-apiserver-client,{label}/kube-apiserver-client-kubelet,{label}/kubelet-serving,{label}/legacy-unknown',
    'create authorization subjectaccessreviews',
    eventsRule,
  ],
  'clusterrole-aggregation-controller': [
    'escalate,get,list,patch,update,watch rbac.authorization clusterroles',
  ],
  'cronjob-controller': [
    'get,list,update,watch batch cronjobs',
    'create,delete,get,list,patch,update,watch batch jobs',
    'update batch cronjobs/status',
    'update batch cronjobs/finalizers',
    'delete,list,watch core pods',
    eventsRule,
  ],
  'daemon-set-controller': [
    'read apps,extensions daemonsets',
    'update apps,extensions daemonsets/status',
    'update apps,extensions daemonsets/finalizers',
    'list,watch core nodes',
    'create,delete,list,patch,watch core pods',
    'create core pods/binding',
    'create,delete,get,list,patch,update,watch apps controllerrevisions',
    eventsRule,
  ],
  'deployment-controller': [
    'get,list,update,watch apps,extensions deployments',
    'update apps,extensions deployments/status',
    'update apps,extensions deployments/finalizers',
    'create,delete,get,list,patch,update,watch apps,extensions replicasets',
    'get,list,update,watch core pods',
    eventsRule,
  ],
  'disruption-controller': [
    'read apps,extensions deployments',
    'read apps,extensions replicasets',
    'read core replicationcontrollers',
    'read policy poddisruptionbudgets',
    'read apps statefulsets',
    'update policy poddisruptionbudgets/status',
    'patch,update core pods/status',
    'get * */scale',
    eventsRule,
  ],
  'endpoint-controller': [
    'read core pods,services',
    'create,delete,get,list,update,watch core endpoints',
    'create core endpoints/restricted',
    eventsRule,
  ],
  'endpointslice-controller': [
    'read core nodes,pods,services',
    'update core services/finalizers',
    'create,delete,get,list,update,watch discovery endpointslices',
    eventsRule,
  ],
  'endpointslicemirroring-controller': [
    'read core endpoints,services',
    'update core services/finalizers',
    'update core endpoints/finalizers',
    'create,delete,get,list,update,watch discovery endpointslices',
    eventsRule,
  ],
  'ephemeral-volume-controller': [
    'read core pods',
    'update core pods/finalizers',
    'create,get,list,watch core persistentvolumeclaims',
    eventsRule,
  ],
  'expand-controller': [
    'get,list,patch,update,watch core persistentvolumes',
    'patch,update core persistentvolumeclaims/status',
    'read core persistentvolumeclaims',
    'get core services',
    eventsRule,
  ],
  'generic-garbage-collector': ['delete,get,list,patch,update,watch * *', eventsRule],
  'horizontal-pod-autoscaler': [
    'read autoscaling horizontalpodautoscalers',
    'update autoscaling horizontalpodautoscalers/status',
    'get,update * */scale',
    'list,watch core pods',
    'list,watch metrics pods',
    'read custom.metrics *',
    'read external.metrics *',
    eventsRule,
  ],
  'job-controller': [
    'get,list,patch,update,watch batch jobs',
    'update batch jobs/status',
    'update batch jobs/finalizers',
    'create,delete,list,patch,watch core pods',
    eventsRule,
  ],
  'legacy-service-account-token-cleaner': [
    'get core configmaps kube-apiserver-legacy-service-account-token-tracking',
    'delete,patch core secrets',
  ],
  'namespace-controller': [
    'delete,get,list,watch core namespaces',
    'update core namespaces/finalize,namespaces/status',
    'delete,deletecollection,get,list,watch * *',
  ],
  'node-controller': [
    'delete,get,list,patch,update,watch core nodes',
    'patch,update core nodes/status',
    'patch,update core pods/status',
    'delete,get,list,watch core pods',
    eventsRule,
  ],
  'persistent-volume-binder': [
    'create,delete,get,list,update,watch core persistentvolumes',
    'update core persistentvolumes/status',
    'get,list,update,watch core persistentvolumeclaims',
    'update core persistentvolumeclaims/status',
    'create,delete,get,list,watch core pods',
    'read storage storageclasses',
    'list,watch core nodes',
    eventsRule,
    'watch core events',
    'get core services',
  ],
  'pod-garbage-collector': [
    'delete,list,watch core pods',
    'read core nodes',
    'patch core pods/status',
  ],
  'pv-protection-controller': ['get,list,update,watch core persistentvolumes', eventsRule],
  'pvc-protection-controller': [
    'get,list,update,watch core persistentvolumeclaims',
    'read core pods',
    eventsRule,
  ],
  'replicaset-controller': [
    'get,list,update,watch apps,extensions replicasets',
    'update apps,extensions replicasets/status',
    'update apps,extensions replicasets/finalizers',
    'create,delete,list,patch,watch core pods',
    eventsRule,
  ],
  'replication-controller': [
    'get,list,update,watch core replicationcontrollers',
    'update core replicationcontrollers/status',
    'update core replicationcontrollers/finalizers',
    'create,delete,list,patch,watch core pods',
    eventsRule,
  ],
  'resourcequota-controller': ['list,watch * *', 'update core resourcequotas/status', eventsRule],
  'root-ca-cert-publisher': ['create,update core configmaps', eventsRule],
  'route-controller': ['list,watch core nodes', 'patch core nodes/status', eventsRule],
  'service-account-controller': ['create core serviceaccounts', eventsRule],
  'service-controller': [
    'read core services',
    'patch,update core services/status',
    'list,watch core nodes',
    eventsRule,
  ],
  // Upstream has no such controller: a cluster's external provisioner brings a role of its own.
  'simulated-provisioner-controller': [
    'create,delete,get,list,update,watch core persistentvolumes',
    'list,update,watch core persistentvolumeclaims',
    'update core persistentvolumeclaims/status',
    'list,watch storage storageclasses',
    'get core nodes',
    eventsRule,
  ],
  'statefulset-controller': [
    'list,watch core pods',
    'read apps statefulsets',
    'update apps statefulsets/status',
    'update apps statefulsets/finalizers',
    'create,delete,get,patch,update core pods',
    'create,delete,get,list,patch,update,watch apps controllerrevisions',
    'create,get,list,watch core persistentvolumeclaims',
    'delete,update core persistentvolumeclaims',
    'update core pods/finalizers',
    eventsRule,
  ],
  'ttl-after-finished-controller': ['delete,get,list,watch batch jobs', eventsRule],
  'ttl-controller': ['list,patch,update,watch core nodes', eventsRule],
  'validatingadmissionpolicy-status-controller': [
    'read admissionregistration validatingadmissionpolicies',
    'get,patch,update admissionregistration validatingadmissionpolicies/status',
    eventsRule,
  ],
}
