/** Dialect: the one table of names that carry the product name. No other file spells one of them. */

export interface Dialect {
  readonly name: 'kubernetes' | 'svc'
  /** Domain of API groups, `rbac.authorization.<apiDomain>`, and of `meta.<apiDomain>`. */
  readonly apiDomain: string
  /** Domain of labels, taints, annotations, Secret types, signers' groups. */
  readonly labelDomain: string
  readonly systemNamespace: string
  readonly publicNamespace: string
  readonly nodeLeaseNamespace: string
  readonly protobufMediaType: string
  /** The finalizer every Namespace carries in `spec.finalizers`. */
  readonly namespaceFinalizer: string
  /** The Service of the API server in namespace `default`. */
  readonly apiServerService: string
  /** The ConfigMap with the cluster's authority that every namespace gets. */
  readonly rootCaConfigMap: string
  /** What encrypted bytes in the store begin with. */
  readonly encryptionPrefix: string
}

export const dialects = {
  kubernetes: {
    name: 'kubernetes',
    apiDomain: 'k8s.io',
    labelDomain: 'kubernetes.io',
    systemNamespace: 'kube-system',
    publicNamespace: 'kube-public',
    nodeLeaseNamespace: 'kube-node-lease',
    protobufMediaType: 'application/vnd.kubernetes.protobuf',
    namespaceFinalizer: 'kubernetes',
    apiServerService: 'kubernetes',
    rootCaConfigMap: 'kube-root-ca.crt',
    encryptionPrefix: 'k8s:enc:',
  },
  svc: {
    name: 'svc',
    apiDomain: 'svc.io',
    labelDomain: 'svc.io',
    systemNamespace: 'svc-system',
    publicNamespace: 'svc-public',
    nodeLeaseNamespace: 'svc-node-lease',
    protobufMediaType: 'application/vnd.svc.protobuf',
    namespaceFinalizer: 'svc',
    apiServerService: 'svc',
    rootCaConfigMap: 'svc-root-ca.crt',
    encryptionPrefix: 'svc:enc:',
  },
} as const satisfies Record<string, Dialect>

/** The preset of that name, or undefined for an unknown one. */
export function dialectNamed(name: string): Dialect | undefined {
  return name === 'kubernetes' || name === 'svc' ? dialects[name] : undefined
}

/** Groups without a domain are the same in both dialects. */
const bareGroups = new Set(['', 'apps', 'batch', 'policy', 'autoscaling', 'extensions'])

/** `rbac.authorization` -> `rbac.authorization.k8s.io`; `apps` stays `apps`. */
export function apiGroup(dialect: Dialect, stem: string): string {
  return bareGroups.has(stem) ? stem : `${stem}.${dialect.apiDomain}`
}

/** A label, taint, annotation or type key: `labelKey(d, 'node', 'unreachable')` -> `node.kubernetes.io/unreachable`. */
export function labelKey(dialect: Dialect, subdomain: string, name: string): string {
  const host = subdomain === '' ? dialect.labelDomain : `${subdomain}.${dialect.labelDomain}`
  return `${host}/${name}`
}

/** Where a pod finds its service account's token and the cluster's authority. */
export function serviceAccountFolder(dialect: Dialect): string {
  return `/var/run/secrets/${dialect.labelDomain}/serviceaccount`
}

/** Signer names and the annotations that upstream puts under the API domain: `kubelet` signers are `kubernetes.io/...`. */
export function apiKey(dialect: Dialect, subdomain: string, name: string): string {
  const host = subdomain === '' ? dialect.apiDomain : `${subdomain}.${dialect.apiDomain}`
  return `${host}/${name}`
}
