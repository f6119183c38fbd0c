/** slimPod: a Pod as a row, with the status that kubectl shows. Pure. */
import { podSummary } from '../../components/api/columns/pods.ts'
import type { Pod } from '../../components/api/generated/types.ts'
import { controllerOf, keyOf, type KubeObject } from '../../components/machinery/objects/object.ts'
import type { SlimPod } from '../protocol/live.ts'

export function slimPod(pod: Pod): SlimPod {
  const { metadata, spec, status: podStatus } = pod
  const { status, restarts } = podSummary(pod as KubeObject)
  const owner = controllerOf(pod)
  return {
    key: keyOf(pod),
    uid: metadata.uid ?? '',
    node: spec?.nodeName ?? '',
    status,
    ready: podStatus?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True',
    restarts,
    ...(owner === undefined ? {} : { owner: `${owner.kind}/${owner.name}` }),
  }
}
