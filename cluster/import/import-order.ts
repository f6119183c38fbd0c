/** Import order: what others need comes first, and every owner before what it owns. */
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { definitions, isOfUpstream, kindName } from './kind-name.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'

/** An object in the form to create, with its uid in the cluster it comes from. */
export interface ImportedObject {
  readonly resource: Resource
  readonly uid: string
  readonly object: KubeObject
}

/** Kinds in steps. All others, which use these, come after `pods`' and before the last ones. */
const firstKinds: readonly (readonly string[])[] = [
  ['namespaces'],
  [definitions],
  [
    'ingressclasses.networking',
    'nodes',
    'priorityclasses.scheduling',
    'runtimeclasses.node',
    'storageclasses.storage',
  ],
  ['serviceaccounts', 'configmaps', 'secrets', 'limitranges'],
  ['clusterroles.rbac.authorization', 'roles.rbac.authorization'],
  ['clusterrolebindings.rbac.authorization', 'rolebindings.rbac.authorization'],
  ['persistentvolumes'],
  ['persistentvolumeclaims', 'services'],
]
/** They would refuse objects that were there before them. */
const lastKinds = new Set([
  'resourcequotas',
  'mutatingadmissionpolicies.admissionregistration',
  'mutatingadmissionpolicybindings.admissionregistration',
  'mutatingwebhookconfigurations.admissionregistration',
  'validatingadmissionpolicies.admissionregistration',
  'validatingadmissionpolicybindings.admissionregistration',
  'validatingwebhookconfigurations.admissionregistration',
  'apiservices.apiregistration',
])

function stepOf(resource: Resource): number {
  const name = kindName(resource)
  const first = firstKinds.findIndex((names) => names.includes(name))
  if (first >= 0) return first
  if (lastKinds.has(name)) return firstKinds.length + 2
  return firstKinds.length + (isOfUpstream(resource.group) ? 0 : 1)
}

/** Objects of one step can be created at once. Owners that own each other are taken as they come. */
export function importSteps(objects: readonly ImportedObject[]): ImportedObject[][] {
  const byUid = new Map(objects.map((one) => [one.uid, one]))
  const steps = new Map<string, number>()
  const stepWithOwners = (one: ImportedObject): number => {
    const known = steps.get(one.uid)
    if (known !== undefined) return known
    steps.set(one.uid, 0)
    const owners = (one.object.metadata.ownerReferences ?? []).flatMap(
      ({ uid }) => byUid.get(uid) ?? [],
    )
    // Between the steps of kinds there is room for chains of owners.
    const afterOwners = owners.map((owner) => stepWithOwners(owner) + 1)
    const step = Math.max(stepOf(one.resource) * 100, ...afterOwners)
    steps.set(one.uid, step)
    return step
  }
  const byStep = Map.groupBy(objects, stepWithOwners)
  return [...byStep].toSorted(([a], [b]) => a - b).map(([, list]) => list)
}
