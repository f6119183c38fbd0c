/** The subjects of the default roles, and the default roles inside the system namespaces (release 1.32). */

/** `user:<name>`, `group:<name>` or `account:<name>` (of the system namespace). */
export type SubjectText = `${'user' | 'group' | 'account'}:${string}`

/** ClusterRoleBindings, each named like its role. */
export const clusterRoleBindings: Readonly<Record<string, readonly SubjectText[]>> = {
  'cluster-admin': ['group:system:masters'],
  'system:basic-user': ['group:system:authenticated'],
  'system:discovery': ['group:system:authenticated'],
  'system:kube-controller-manager': ['user:system:kube-controller-manager'],
  'system:kube-dns': ['account:kube-dns'],
  'system:kube-scheduler': ['user:system:kube-scheduler'],
  'system:monitoring': ['group:system:monitoring'],
  // Node agents have their rights from the Node authorizer.
  'system:node': [],
  'system:node-proxier': ['user:system:kube-proxy'],
  'system:public-info-viewer': ['group:system:authenticated', 'group:system:unauthenticated'],
  'system:service-account-issuer-discovery': ['group:system:serviceaccounts'],
  'system:volume-scheduler': ['user:system:kube-scheduler'],
}

export interface NamespacedRole {
  readonly namespace: 'system' | 'public'
  readonly name: string
  readonly rules: readonly string[]
  /** Default: the role's name. */
  readonly bindingName?: string
  readonly subjects: readonly SubjectText[]
}

export const namespacedRoles: readonly NamespacedRole[] = [
  {
    namespace: 'public',
    name: 'system:controller:bootstrap-signer',
    rules: [
      'read core configmaps',
      'update core configmaps cluster-info',
      'create,patch,update core,events events',
    ],
    subjects: ['account:bootstrap-signer'],
  },
  {
    namespace: 'system',
    name: 'extension-apiserver-authentication-reader',
    rules: ['read core configmaps extension-apiserver-authentication'],
    bindingName: 'system::extension-apiserver-authentication-reader',
    subjects: ['user:system:kube-controller-manager', 'user:system:kube-scheduler'],
  },
  {
    namespace: 'system',
    name: 'system::leader-locking-kube-controller-manager',
    rules: ['watch core configmaps', 'get,update core configmaps kube-controller-manager'],
    subjects: ['user:system:kube-controller-manager', 'account:kube-controller-manager'],
  },
  {
    namespace: 'system',
    name: 'system::leader-locking-kube-scheduler',
    rules: ['watch core configmaps', 'get,update core configmaps kube-scheduler'],
    subjects: ['user:system:kube-scheduler', 'account:kube-scheduler'],
  },
  {
    namespace: 'system',
    name: 'system:controller:bootstrap-signer',
    rules: ['read core secrets'],
    subjects: ['account:bootstrap-signer'],
  },
  {
    namespace: 'system',
    name: 'system:controller:cloud-provider',
    rules: ['create,get,list,watch core configmaps'],
    subjects: ['account:cloud-provider'],
  },
  {
    namespace: 'system',
    name: 'system:controller:token-cleaner',
    rules: ['delete,get,list,watch core secrets', 'create,patch,update core,events events'],
    subjects: ['account:token-cleaner'],
  },
]
