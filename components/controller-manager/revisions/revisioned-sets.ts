/** What the controllers of StatefulSets and DaemonSets watch alike: sets, their pods and their revisions. */
import type { ControllerRevision, Pod } from '../../api/generated/types.ts'
import { source } from '../../client/controller.ts'
import type { ControllerSource, Reconciler } from '../../client/controller.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { LabelSelector } from '../../machinery/selectors/label-selector.ts'
import type { ControllerContext } from '../controller-context.ts'
import { unlessGone } from '../gone-owners.ts'
import type { OwnWrites } from '../own-writes.ts'
import { ownerKeys } from '../owner-keys.ts'

interface RevisionedSets<S extends KubeObject> {
  readonly sets: Informer<S>
  readonly pods: Informer<Pod>
  readonly setClient: ResourceClient<S>
  readonly ownWrites: OwnWrites
}

/** Sources of the sets' keys, and the reconciler for sets that are not gone. */
export function watchSets<S extends KubeObject>(
  { informers, resources }: ControllerContext,
  { sets, pods, setClient, ownWrites }: RevisionedSets<S>,
  {
    selectorOf,
    syncSet,
  }: { readonly selectorOf: (set: S) => LabelSelector; readonly syncSet: Reconciler },
): { readonly informers: readonly ControllerSource[]; readonly reconcile: Reconciler } {
  const revisions = informers.informer<ControllerRevision>(resources.controllerRevisions)
  const keysOf = ownerKeys(sets, selectorOf)
  return {
    informers: [source(sets), source(pods, keysOf), source(revisions, keysOf)],
    reconcile: unlessGone({ owners: sets, client: setClient, ownWrites }, syncSet),
  }
}
