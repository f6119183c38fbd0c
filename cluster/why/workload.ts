/** What the explainers of workloads have in common. Pure. */
import type { LabelSelector as SelectorField } from '../../components/api/generated/types.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import {
  formatLabelSelector,
  labelSelectorFrom,
} from '../../components/machinery/selectors/label-selector.ts'
import type { ListNeed, Need } from './explainer.ts'

/** What is related to the pods of a workload: the pods themselves, what they mount, and what may keep them from being created. */
export function workloadNeeds(object: KubeObject, more: readonly ListNeed[] = []): Need[] {
  const { namespace = '' } = object.metadata
  const selector = (object['spec']?.selector ?? undefined) as SelectorField | undefined
  const labelSelector = formatLabelSelector(labelSelectorFrom(selector))
  return [
    { of: 'pods', namespace, labelSelector },
    ...more,
    // Events about the pods are among them, so they are not asked for one by one.
    { of: 'events', namespace },
    { of: 'persistentVolumeClaims', namespace },
    { of: 'persistentVolumes' },
    { of: 'storageClasses' },
    { of: 'resourceQuotas', namespace },
    { of: 'podDisruptionBudgets', namespace },
    { of: 'nodes' },
  ]
}
