/** Which controllers run: upstream's reading of --controllers, with old and new names. */
import { nearestName } from '../component-base/flags.ts'
import type { FeatureGates } from '../api/feature-gates.ts'
import type { ControllerEntry } from './controller-context.ts'

type Named = Pick<ControllerEntry, 'name' | 'aliases' | 'defaultOn'>

/** The first mention of a controller decides; without any, `*` runs those that are on by default. */
function isSelected(entry: Named, selection: readonly string[]): boolean {
  const names = [entry.name, ...entry.aliases]
  for (const item of selection) {
    if (names.includes(item)) return true
    if (item.startsWith('-') && names.includes(item.slice(1))) return false
  }
  return selection.includes('*') && entry.defaultOn
}

/** The controllers to run, in the order of the list. Throws for a name that no controller has. */
export function selectControllers<E extends Named>(
  entries: readonly E[],
  selection: readonly string[],
): E[] {
  const known = entries.flatMap(({ name, aliases }) => [name, ...aliases])
  for (const item of selection) {
    const name = item.replace(/^-/, '')
    if (item === '*' || known.includes(name)) continue
    const nearest = nearestName(name, known)
    const hint = nearest === undefined ? '' : ` did you mean "${nearest}"?`
    const names = entries.map((entry) => entry.name).toSorted()
    throw new Error(
      `"${name}" is not in the list of known controllers;${hint} known controllers: ${names.join(', ')}`,
    )
  }
  return entries.filter((entry) => isSelected(entry, selection))
}

/** Why a controller does not run with these gates; undefined when all of its own are on. */
export function whyGatedOff(
  { gates: needed = [] }: Pick<ControllerEntry, 'gates'>,
  gates: FeatureGates,
): string | undefined {
  const off = needed.filter((name) => !gates[name])
  return off.length === 0 ? undefined : `it is disabled by a feature gate: ${off.join(', ')}`
}

/** Accounts whose names differ from their controller's. */
const accounts: Readonly<Record<string, string>> = {
  'bootstrap-signer-controller': 'bootstrap-signer',
  'token-cleaner-controller': 'token-cleaner',
  'certificatesigningrequest-approving-controller': 'certificate-controller',
  'certificatesigningrequest-signing-controller': 'certificate-controller',
  'certificatesigningrequest-cleaner-controller': 'certificate-controller',
  'root-ca-certificate-publisher-controller': 'root-ca-cert-publisher',
  'serviceaccount-controller': 'service-account-controller',
  'legacy-serviceaccount-token-cleaner-controller': 'legacy-service-account-token-cleaner',
  'clusterrole-aggregation-controller': 'clusterrole-aggregation-controller',
  'endpoints-controller': 'endpoint-controller',
  'endpointslice-mirroring-controller': 'endpointslicemirroring-controller',
  'service-lb-controller': 'service-controller',
  'service-cidr-controller': 'service-cidrs-controller',
  'node-route-controller': 'route-controller',
  'cloud-node-lifecycle-controller': 'node-controller',
  'replicationcontroller-controller': 'replication-controller',
  'pod-garbage-collector-controller': 'pod-garbage-collector',
  'garbage-collector-controller': 'generic-garbage-collector',
  'daemonset-controller': 'daemon-set-controller',
  'horizontal-pod-autoscaler-controller': 'horizontal-pod-autoscaler',
  'node-lifecycle-controller': 'node-controller',
  'taint-eviction-controller': 'node-controller',
  'node-ipam-controller': 'node-controller',
  'persistentvolume-binder-controller': 'persistent-volume-binder',
  'persistentvolumeclaim-protection-controller': 'pvc-protection-controller',
  'persistentvolume-protection-controller': 'pv-protection-controller',
  'persistentvolume-expander-controller': 'expand-controller',
  'persistentvolume-attach-detach-controller': 'attachdetach-controller',
  'kube-apiserver-serving-clustertrustbundle-publisher-controller':
    'kube-apiserver-serving-clustertrustbundle-publisher',
  'storageversion-garbage-collector-controller': 'storage-version-garbage-collector',
  'ephemeral-volume-controller': 'ephemeral-volume-controller',
  'resourceclaim-controller': 'resource-claim-controller',
}

/** The service account upstream runs the controller as; undefined where it keeps the manager's own identity. */
export function serviceAccountOf(controller: string): string | undefined {
  // It makes the very tokens the others use.
  return controller === 'serviceaccount-token-controller'
    ? undefined
    : (accounts[controller] ?? controller)
}
