/** The revisions of a DaemonSet: the one of its template, and those before (upstream: daemon/update.go constructHistory). */
import type { ControllerRevision, DaemonSet, Pod } from '../../api/generated/types.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { controllerReference } from '../claim.ts'
import type { OwnWrites } from '../own-writes.ts'
import type { RevisionControl } from '../revisions/revision-control.ts'
import { revisionHashKey, revisionName } from '../revisions/revision-control.ts'
import { nextRevision, oldestUnused, sortRevisions } from '../revisions/revision-order.ts'
import { templatePatch } from '../revisions/template-patch.ts'
import { templateHash } from '../template-hash.ts'
import { podHash } from './daemon-pods.ts'

export interface DaemonRevisions {
  /** Label of the pods of the set's template as it is. */
  readonly hash: string
  readonly old: readonly ControllerRevision[]
  readonly collisions: number
  /** The set's pods, some relabelled. */
  readonly members: readonly Pod[]
}

export interface DaemonRevisionTools {
  readonly control: RevisionControl
  readonly pods: ResourceClient<Pod>
  readonly ownWrites: OwnWrites
  readonly resource: Resource
}

function hashOf({ metadata }: ControllerRevision): string {
  return metadata.labels?.[revisionHashKey] ?? ''
}

/** Revisions that another controller made lack the label: the name serves, which never collides. */
async function labelled(
  { control }: DaemonRevisionTools,
  set: DaemonSet,
  revisions: readonly ControllerRevision[],
): Promise<ControllerRevision[]> {
  const all: ControllerRevision[] = []
  for (const revision of revisions) {
    const { metadata } = revision
    const labels = { ...metadata.labels, [revisionHashKey]: metadata.name ?? '' }
    const isLabelled = metadata.labels?.[revisionHashKey] !== undefined
    all.push(
      isLabelled
        ? revision
        : await control.update(set, { ...revision, metadata: { ...metadata, labels } }),
    )
  }
  return all
}

/** Of several revisions of one template the newest stays; the pods of the others become its own. */
async function withoutDuplicates(
  { control, pods, ownWrites }: DaemonRevisionTools,
  set: DaemonSet,
  { same, members }: { same: readonly ControllerRevision[]; members: readonly Pod[] },
): Promise<{ readonly kept: ControllerRevision | undefined; readonly relabelled: readonly Pod[] }> {
  const kept = sortRevisions(same).at(-1)
  if (kept === undefined || same.length === 1) return { kept, relabelled: members }
  const others = same.filter((revision) => revision !== kept)
  const hashes = new Set(others.map(hashOf))
  const relabelled: Pod[] = []
  for (const pod of members) {
    const { namespace, name = '' } = pod.metadata
    const patch = { metadata: { labels: { [revisionHashKey]: hashOf(kept) } } }
    const isOther = hashes.has(podHash(pod))
    const next = isOther ? await pods.patch({ namespace, name }, patch, { type: 'merge' }) : pod
    if (isOther) ownWrites.wrote(keyOf(set), next)
    relabelled.push(next)
  }
  for (const revision of others) await control.delete(set, revision)
  return { kept, relabelled }
}

/** Creates the revision of the set's template, or makes an earlier one with the same template the newest again. */
export async function daemonRevisions(
  set: DaemonSet,
  found: { readonly owned: readonly ControllerRevision[]; readonly members: readonly Pod[] },
  tools: DaemonRevisionTools,
): Promise<DaemonRevisions> {
  const { control, resource } = tools
  const data = templatePatch(set.spec?.template)
  const { collisionCount: collisions = 0 } = set.status ?? {}
  const owned = await labelled(tools, set, found.owned)
  const isSame = (revision: ControllerRevision): boolean => deepEqual(revision.data, data)
  const old = owned.filter((revision) => !isSame(revision))
  const same = owned.filter(isSame)
  const revision = nextRevision(old)
  const { kept, relabelled: members } = await withoutDuplicates(tools, set, {
    same,
    members: found.members,
  })
  if (kept !== undefined) {
    if (kept.revision < revision) await control.update(set, { ...kept, revision })
    return { hash: hashOf(kept), old, collisions, members }
  }
  const { namespace = '', name = '', annotations } = set.metadata
  const template = set.spec?.template ?? {}
  const make = (count: number): ControllerRevision => {
    const hash = templateHash(template, count)
    return {
      metadata: {
        name: revisionName(name, hash),
        namespace,
        labels: { ...template.metadata?.labels, [revisionHashKey]: hash },
        ...(annotations && { annotations }),
        ownerReferences: [controllerReference(set, resource)],
      },
      data,
      revision,
    }
  }
  const created = await control.create(set, make, collisions)
  return { hash: hashOf(created.revision), old, collisions: created.collisions, members }
}

/** Old revisions beyond the history limit that no pod has. */
export function outdatedRevisions(
  set: DaemonSet,
  old: readonly ControllerRevision[],
  members: readonly Pod[],
): ControllerRevision[] {
  const used = new Set(members.map(podHash))
  const limit = set.spec?.revisionHistoryLimit ?? 10
  return oldestUnused(old, (revision) => used.has(hashOf(revision)), old.length - limit)
}
