/**
 * Scale owners: maps the owners of a workload's replicas to owners of its Scale, and back (upstream: apimachinery
 * util/managedfields/scalehandler.go).
 */
import {
  differenceOf,
  hasPath,
  isEmptySet,
  setOf,
  unionOf,
} from '../../machinery/apply/field-set.ts'
import {
  entriesOf,
  ownerId,
  ownersOf,
  type Owner,
  type Owners,
} from '../../machinery/apply/managed-fields.ts'
import type { KubeObject, ManagedFieldsEntry } from '../../machinery/objects/object.ts'

/** Where replicas are, in the Scale and in every built-in kind that has one. */
const replicasPath = ['f:spec', 'f:replicas'] as const
const replicas = setOf(replicasPath)

function elementsOf(fields: readonly string[] | undefined): readonly string[] {
  return fields === undefined ? replicasPath : fields.map((name) => `f:${name}`)
}
const scaleVersion = 'autoscaling/v1'

function storedOwners({ metadata }: KubeObject): Owners {
  return ownersOf(metadata.managedFields ?? [], { isOurs: true }) ?? new Map<string, Owner>()
}

const asScaleOwner = (owner: Owner): Owner => ({
  ...owner,
  apiVersion: scaleVersion,
  fields: replicas,
})

/** The entries of a workload's Scale: those of the managers that own its replicas, which are at `fields`. */
export function scaleEntriesOf(
  workload: KubeObject,
  fields?: readonly string[],
): ManagedFieldsEntry[] {
  const path = elementsOf(fields)
  const owners = new Map<string, Owner>()
  for (const owner of storedOwners(workload).values()) {
    if (!hasPath(owner.fields, path)) continue
    const scaleOwner = asScaleOwner(owner)
    owners.set(ownerId(scaleOwner), scaleOwner)
  }
  return entriesOf(owners)
}

/**
 * The entries of a workload after its Scale was written: owners of replicas that the Scale has no more lose them, and new
 * ones own them in the workload's version.
 */
export function workloadEntriesOf(
  workload: KubeObject,
  scaleEntries: readonly ManagedFieldsEntry[],
  fields?: readonly string[],
): ManagedFieldsEntry[] {
  const path = elementsOf(fields)
  const own = setOf(path)
  const left = new Map(ownersOf(scaleEntries, { isOurs: true }))
  const owners = new Map<string, Owner>()
  for (const [id, owner] of storedOwners(workload)) {
    const isKept = !hasPath(owner.fields, path) || left.delete(ownerId(asScaleOwner(owner)))
    const remaining = isKept ? owner.fields : differenceOf(owner.fields, own)
    if (!isEmptySet(remaining)) owners.set(id, { ...owner, fields: remaining })
  }
  for (const scaleOwner of left.values()) {
    if (!hasPath(scaleOwner.fields, replicasPath)) continue
    const { apiVersion = '' } = workload
    const owner = { ...scaleOwner, apiVersion }
    const before = owners.get(ownerId(owner))
    const owned = before === undefined ? own : unionOf(before.fields, own)
    owners.set(ownerId(owner), { ...owner, fields: owned })
  }
  return entriesOf(owners)
}
