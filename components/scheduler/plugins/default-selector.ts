/**
 * The pods that belong with a pod for default spreading: those of its services and of the ReplicationController, ReplicaSet or
 * StatefulSet that controls it (upstream: plugins/helper/spread.go, DefaultSelector).
 */
import type {
  Pod,
  ReplicaSet,
  ReplicationController,
  Service,
  StatefulSet,
} from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import { controllerOf } from '../../machinery/objects/object.ts'
import type { LabelSelector } from '../../machinery/selectors/label-selector.ts'
import {
  labelSelectorFrom,
  labelSelectorOfMap,
  matchesLabels,
} from '../../machinery/selectors/label-selector.ts'
import type { Handle } from '../plugin.ts'

/** The selector of the pods that belong with this one; undefined when nothing says which do. */
export type DefaultSelector = (pod: Pod) => LabelSelector | undefined

export function createDefaultSelector({
  dialect,
  informers,
}: Pick<Handle, 'dialect' | 'informers'>): DefaultSelector {
  const resources = resourcesOf(dialect)
  const services = informers.informer<Service>(resources.services)
  services.addIndex('namespace', ({ metadata }) => [metadata.namespace ?? ''])
  const controllers = informers.informer<ReplicationController>(resources.replicationControllers)
  const replicaSets = informers.informer<ReplicaSet>(resources.replicaSets)
  const statefulSets = informers.informer<StatefulSet>(resources.statefulSets)

  const ofServices = ({ metadata }: Pod): Record<string, string> => {
    const merged: Record<string, string> = {}
    for (const { spec } of services.byIndex('namespace', metadata.namespace ?? '')) {
      const selector = spec?.selector
      if (selector === undefined || Object.keys(selector).length === 0) continue
      if (matchesLabels(labelSelectorOfMap(selector), metadata.labels)) {
        Object.assign(merged, selector)
      }
    }
    return merged
  }

  return (pod) => {
    const labels = ofServices(pod)
    const owner = controllerOf(pod)
    const key = `${pod.metadata.namespace ?? ''}/${owner?.name ?? ''}`
    let more: LabelSelector = []
    if (owner?.apiVersion === 'v1' && owner.kind === 'ReplicationController') {
      Object.assign(labels, controllers.get(key)?.spec?.selector)
    } else if (owner?.apiVersion.startsWith('apps/') === true) {
      const sets = owner.kind === 'ReplicaSet' ? replicaSets : statefulSets
      const isKnown = owner.kind === 'ReplicaSet' || owner.kind === 'StatefulSet'
      const set = isKnown ? sets.get(key) : undefined
      if (set?.spec !== undefined) more = labelSelectorFrom(set.spec.selector)
    }
    const selector = [...labelSelectorOfMap(labels), ...more]
    return selector.length === 0 ? undefined : selector
  }
}
