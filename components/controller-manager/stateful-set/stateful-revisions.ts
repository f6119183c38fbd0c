/** The current and the update revision of a StatefulSet (upstream: stateful_set_control.go getStatefulSetRevisions). */
import type { ControllerRevision, PodTemplateSpec, StatefulSet } from '../../api/generated/types.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { controllerReference } from '../claim.ts'
import type { RevisionControl } from '../revisions/revision-control.ts'
import { revisionName } from '../revisions/revision-control.ts'
import { nextRevision, oldestUnused, sortRevisions } from '../revisions/revision-order.ts'
import { patchHash, templateOf, templatePatch } from '../revisions/template-patch.ts'

export interface StatefulRevisions {
  readonly current: ControllerRevision
  /** Of the set's template as it is. */
  readonly update: ControllerRevision
  readonly collisions: number
}

export interface RevisionFacts {
  readonly control: RevisionControl
  readonly resource: Resource
  /** Label with the hash of a revision's data. */
  readonly hashKey: string
}

function newRevision(
  set: StatefulSet,
  { resource, hashKey }: RevisionFacts,
  { data, revision }: { data: unknown; revision: number },
): (collisions: number) => ControllerRevision {
  const { namespace = '', name = '', annotations } = set.metadata
  return (collisions) => {
    const hash = patchHash(data, collisions)
    return {
      metadata: {
        name: revisionName(name, hash),
        namespace,
        labels: { ...set.spec?.template.metadata?.labels, [hashKey]: hash },
        ...(annotations && { annotations }),
        ownerReferences: [controllerReference(set, resource)],
      },
      data,
      revision,
    }
  }
}

/** Creates the revision of the set's template, or makes an earlier one with the same template the newest again. */
export async function statefulRevisions(
  set: StatefulSet,
  owned: readonly ControllerRevision[],
  facts: RevisionFacts,
): Promise<StatefulRevisions> {
  const sorted = sortRevisions(owned)
  const data = templatePatch(set.spec?.template)
  const known = sorted.findLast((revision) => deepEqual(revision.data, data))
  const newest = sorted.at(-1)
  const revision = nextRevision(sorted)
  let { collisionCount: collisions = 0 } = set.status ?? {}
  let update: ControllerRevision
  if (known !== undefined && deepEqual(known.data, newest?.data)) update = newest ?? known
  else if (known === undefined) {
    const make = newRevision(set, facts, { data, revision })
    const created = await facts.control.create(set, make, collisions)
    update = created.revision
    collisions = created.collisions
  } else update = await facts.control.update(set, { ...known, revision })
  const currentName = set.status?.currentRevision
  const current = sorted.find(({ metadata }) => metadata.name === currentName) ?? update
  return { current, update, collisions }
}

/** Revisions beyond the history limit that neither the set nor a pod of it uses. */
export function outdatedRevisions(
  set: StatefulSet,
  owned: readonly ControllerRevision[],
  used: ReadonlySet<string>,
): ControllerRevision[] {
  const isUsed = ({ metadata }: ControllerRevision): boolean => used.has(metadata.name ?? '')
  const limit = set.spec?.revisionHistoryLimit ?? 10
  const unused = owned.filter((revision) => !isUsed(revision)).length
  return limit < 0 ? [] : oldestUnused(owned, isUsed, unused - limit)
}

/** The template of a revision; the set's own when the revision holds none. */
export function templateAt(set: StatefulSet, revision: ControllerRevision): PodTemplateSpec {
  return templateOf(revision) ?? set.spec?.template ?? {}
}
