/** The keys of Services whose endpoints may have changed: theirs, and those that select a pod that changed. */
import type { Pod, Service } from '../../api/generated/types.ts'
import type { Informer } from '../../client/informer.ts'
import type { WorkQueue } from '../../client/work-queue.ts'
import { labelSelectorOfMap, matchesLabels } from '../../machinery/selectors/label-selector.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { inNamespace, indexByNamespace } from '../pod-indexes.ts'
import { isEndpointChange } from './pod-endpoint.ts'

/** Feeds the queue, and gives the pods a Service selects. Call it before the informers run. */
export function followServices(options: {
  readonly services: Informer<Service>
  readonly pods: Informer<Pod>
  readonly queue: WorkQueue
  /** How long changes of pods are gathered before they are acted on. */
  readonly batchMs: number
}): { selectedPods(service: Service): Pod[] } {
  const { services, pods, queue, batchMs } = options
  indexByNamespace(services)
  indexByNamespace(pods)
  const selects = ({ spec }: Service, pod: Pod): boolean =>
    spec?.selector !== undefined &&
    Object.keys(spec.selector).length > 0 &&
    matchesLabels(labelSelectorOfMap(spec.selector), pod.metadata.labels)

  pods.onEvent((event) => {
    const { object } = event
    const old = event.type === 'update' ? event.old : undefined
    if (old !== undefined && !isEndpointChange(old, object)) return
    for (const service of inNamespace(services, object.metadata.namespace ?? '')) {
      if (selects(service, object) || (old !== undefined && selects(service, old)))
        queue.addAfter(keyOf(service), batchMs)
    }
  })
  return {
    selectedPods: (service) =>
      inNamespace(pods, service.metadata.namespace ?? '').filter((pod) => selects(service, pod)),
  }
}
