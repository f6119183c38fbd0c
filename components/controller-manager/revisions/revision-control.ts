/** Writes of ControllerRevisions that StatefulSets and DaemonSets share (upstream: pkg/controller/history). */
import type { ControllerRevision } from '../../api/generated/types.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { LabelSelector } from '../../machinery/selectors/label-selector.ts'
import { claimOwned } from '../claim.ts'
import type { OwnWrites } from '../own-writes.ts'
import { controlledBy } from '../pod-indexes.ts'

/** On the pods of StatefulSets the revision's name, on those of DaemonSets the hash in it. */
export const revisionHashKey = 'controller-revision-hash'

/** Longest prefix of a name that leaves room for the hash. */
const maxPrefixLength = 223

export function revisionName(prefix: string, hash: string): string {
  return `${prefix.slice(0, maxPrefixLength)}-${hash}`
}

export interface RevisionControl {
  /** The owner's revisions; orphans that its selector matches are adopted first. */
  claim(owner: KubeObject, selector: LabelSelector): Promise<ControllerRevision[]>
  /**
   * Creates the revision that `make` gives for a number of name collisions. A taken name with the same data is that revision;
   * one with other data counts as a collision, and the next name is tried. Gives the revision and the new count.
   */
  create(
    owner: KubeObject,
    make: (collisions: number) => ControllerRevision,
    collisions: number,
  ): Promise<{ readonly revision: ControllerRevision; readonly collisions: number }>
  /** Conflict means that another client changed it. */
  update(owner: KubeObject, revision: ControllerRevision): Promise<ControllerRevision>
  /** A revision that is gone already is no error. */
  delete(owner: KubeObject, revision: ControllerRevision): Promise<void>
}

export function createRevisionControl(options: {
  readonly revisions: Informer<ControllerRevision>
  readonly client: ResourceClient<ControllerRevision>
  readonly ownerClient: ResourceClient
  readonly ownWrites: OwnWrites
}): RevisionControl {
  const { revisions, client, ownerClient, ownWrites } = options
  return {
    claim: (owner, selector) => {
      const { owned, orphans } = controlledBy(revisions, owner)
      const candidates = [...owned, ...orphans]
      return claimOwned({ candidates, owner, ownerClient, selector, client })
    },
    create: async (owner, make, collisions) => {
      for (let count = collisions; ; count += 1) {
        const wanted = make(count)
        try {
          const revision = await client.create(wanted)
          ownWrites.wrote(keyOf(owner), revision)
          return { revision, collisions: count }
        } catch (error) {
          if (!isStatusError(error, 'AlreadyExists')) throw error
        }
        const { namespace, name = '' } = wanted.metadata
        const revision = await client.get({ namespace, name })
        if (deepEqual(revision.data, wanted.data)) return { revision, collisions: count }
      }
    },
    update: async (owner, revision) => {
      const updated = await client.update(revision)
      ownWrites.wrote(keyOf(owner), updated)
      return updated
    },
    delete: async (owner, revision) => {
      const { namespace, name = '', uid = '' } = revision.metadata
      try {
        await client.delete({ namespace, name }, { preconditions: { uid } })
      } catch (error) {
        if (!isStatusError(error, 'NotFound')) throw error
      }
      ownWrites.deleted(keyOf(owner), revision)
    },
  }
}
