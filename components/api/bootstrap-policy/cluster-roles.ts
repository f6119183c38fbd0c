/** The default ClusterRoles of release 1.32, apart from the controllers' (upstream: rbac/bootstrappolicy). */
import type { RoleTable } from './rule-text.ts'
import { eventsRule } from './rule-text.ts'

const tokenReviews = 'create authentication tokenreviews'
const subjectReviews = 'create authorization subjectaccessreviews'
const editedWorkloads =
  'daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,replicasets/scale'
const viewedWorkloads =
  'daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status'
const viewedSets = 'replicasets,replicasets/scale,replicasets/status'

/** Roles whose rules a controller gathers from the roles with the label of that name. */
export const aggregatedRoles: Readonly<Record<string, string>> = {
  admin: 'aggregate-to-admin',
  edit: 'aggregate-to-edit',
  view: 'aggregate-to-view',
}

/** Who has it reads the metrics group; a metrics server brings the same. */
export const metricsReader = 'system:aggregated-metrics-reader'

/** The label that makes a role part of an aggregated one. */
export const aggregateLabels: Readonly<Record<string, string>> = {
  edit: 'aggregate-to-admin',
  view: 'aggregate-to-edit',
  'system:aggregate-to-admin': 'aggregate-to-admin',
  'system:aggregate-to-edit': 'aggregate-to-edit',
  'system:aggregate-to-view': 'aggregate-to-view',
  [metricsReader]: 'aggregate-to-view',
}

export const nodeRole = 'system:node'

export const clusterRoles: RoleTable = {
  'cluster-admin': ['* * *', '* *'],
  'system:aggregate-to-admin': [
    'create authorization localsubjectaccessreviews',
    'full rbac.authorization rolebindings,roles',
  ],
  'system:aggregate-to-edit': [
    'read core pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy',
    'impersonate core serviceaccounts',
    'write core pods,pods/attach,pods/exec,pods/portforward,pods/proxy',
    'create core pods/eviction',
    'write core configmaps,events,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/scale,secrets,serviceaccounts,services,services/proxy',
    'create core serviceaccounts/token',
    `write apps ${editedWorkloads},statefulsets,statefulsets/scale`,
    'write autoscaling horizontalpodautoscalers',
    'write batch cronjobs,jobs',
    'write extensions daemonsets,deployments,deployments/rollback,deployments/scale,ingresses,networkpolicies,replicasets,replicasets/scale,replicationcontrollers/scale',
    'write policy poddisruptionbudgets',
    'write networking ingresses,networkpolicies',
    'full coordination leases',
  ],
  'system:aggregate-to-view': [
    'read core configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,replicationcontrollers,replicationcontrollers/scale,serviceaccounts,services,services/status',
    'read core bindings,events,limitranges,namespaces/status,pods/log,pods/status,replicationcontrollers/status,resourcequotas,resourcequotas/status',
    'read core namespaces',
    'read discovery endpointslices',
    `read apps controllerrevisions,${viewedWorkloads},${viewedSets},statefulsets,statefulsets/scale,statefulsets/status`,
    'read autoscaling horizontalpodautoscalers,horizontalpodautoscalers/status',
    'read batch cronjobs,cronjobs/status,jobs,jobs/status',
    `read extensions ${viewedWorkloads},ingresses,ingresses/status,networkpolicies,${viewedSets},replicationcontrollers/scale`,
    'read policy poddisruptionbudgets,poddisruptionbudgets/status',
    'read networking ingresses,ingresses/status,networkpolicies',
  ],
  [metricsReader]: ['read metrics nodes,pods'],
  'system:auth-delegator': [tokenReviews, subjectReviews],
  'system:basic-user': [
    'create authorization selfsubjectaccessreviews,selfsubjectrulesreviews',
    'create authentication selfsubjectreviews',
  ],
  'system:certificates.{api}:certificatesigningrequests:nodeclient': [
    'create certificates certificatesigningrequests/nodeclient',
  ],
  'system:certificates.{api}:certificatesigningrequests:selfnodeclient': [
    'create certificates certificatesigningrequests/selfnodeclient',
  ],
  'system:certificates.{api}:kube-apiserver-client-approver': [
    'approve certificates signers {label}/kube-apiserver-client',
  ],
  'system:certificates.{api}:kube-apiserver-client-kubelet-approver': [
    'approve certificates signers {label}/kube-apiserver-client-kubelet',
  ],
  'system:certificates.{api}:kubelet-serving-approver': [
    'approve certificates signers {label}/kubelet-serving',
  ],
  'system:certificates.{api}:legacy-unknown-approver': [
    'approve certificates signers {label}/legacy-unknown',
  ],
  'system:discovery': [
    'get /api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/',
  ],
  'system:heapster': ['read core events,namespaces,nodes,pods', 'read extensions deployments'],
  'system:kube-aggregator': ['read core endpoints,services'],
  'system:kube-controller-manager': [
    eventsRule,
    'create coordination leases',
    'get,update coordination leases kube-controller-manager',
    'create core secrets,serviceaccounts',
    'delete core secrets',
    'get core configmaps,namespaces,secrets,serviceaccounts',
    'update core secrets,serviceaccounts',
    tokenReviews,
    subjectReviews,
    'list,watch * *',
    'create core serviceaccounts/token',
  ],
  'system:kube-dns': ['list,watch core endpoints,services'],
  'system:kube-scheduler': [
    eventsRule,
    'create coordination leases',
    'get,update coordination leases kube-scheduler',
    'read core nodes',
    'delete,get,list,watch core pods',
    'create core bindings,pods/binding',
    'patch,update core pods/status',
    'read core replicationcontrollers,services',
    'read apps,extensions replicasets',
    'read apps statefulsets',
    'read policy poddisruptionbudgets',
    'read core persistentvolumeclaims,persistentvolumes',
    tokenReviews,
    subjectReviews,
    'read storage csinodes',
    'read core namespaces',
    'read storage csidrivers',
    'read storage csistoragecapacities',
  ],
  'system:kubelet-api-admin': [
    'read core nodes',
    'proxy core nodes',
    '* core nodes/log,nodes/metrics,nodes/proxy,nodes/stats',
  ],
  'system:monitoring': [
    'get /healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*',
  ],
  [nodeRole]: [
    tokenReviews,
    'create authorization localsubjectaccessreviews,subjectaccessreviews',
    'read core services',
    'create,get,list,watch core nodes',
    'patch,update core nodes/status',
    'patch,update core nodes',
    'create,patch,update core events',
    'read core pods',
    'create,delete core pods',
    'patch,update core pods/status',
    'create core pods/eviction',
    'read core configmaps,secrets',
    'get core persistentvolumeclaims,persistentvolumes',
    'get core endpoints',
    'create,get,list,watch certificates certificatesigningrequests',
    'create,delete,get,patch,update coordination leases',
    'get storage volumeattachments',
    'create core serviceaccounts/token',
    'get,patch,update core persistentvolumeclaims/status',
    'read storage csidrivers',
    'create,delete,get,patch,update storage csinodes',
    'read node runtimeclasses',
  ],
  'system:node-bootstrapper': ['create,get,list,watch certificates certificatesigningrequests'],
  'system:node-problem-detector': ['get core nodes', 'patch core nodes/status', eventsRule],
  'system:node-proxier': [
    'list,watch core endpoints,services',
    'read core nodes',
    eventsRule,
    'list,watch discovery endpointslices',
  ],
  'system:persistent-volume-provisioner': [
    'create,delete,get,list,watch core persistentvolumes',
    'get,list,update,watch core persistentvolumeclaims',
    'read storage storageclasses',
    'watch core events',
    eventsRule,
  ],
  'system:public-info-viewer': ['get /healthz,/livez,/readyz,/version,/version/'],
  'system:service-account-issuer-discovery': [
    'get /.well-known/openid-configuration,/.well-known/openid-configuration/,/openid/v1/jwks,/openid/v1/jwks/',
  ],
  'system:volume-scheduler': [
    'get,list,patch,update,watch core persistentvolumes',
    'read storage storageclasses',
    'get,list,patch,update,watch core persistentvolumeclaims',
  ],
}
