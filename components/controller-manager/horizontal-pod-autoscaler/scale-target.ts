/** The Scale of what an autoscaler scales: any kind with the sub-resource (upstream: horizontal.go scaleForResourceMappings). */
import type { CrossVersionObjectReference, Scale } from '../../api/generated/types.ts'
import type { Client } from '../../client/client.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { KindFinder } from '../kind-finder.ts'
import { SpecError } from './spec-error.ts'

export interface ScaleTarget {
  readonly specReplicas: number
  readonly statusReplicas: number
  /** '' without one. */
  readonly selector: string
  /** Rejects with a Conflict when the workload changed since. */
  resize(replicas: number): Promise<void>
}

/** The resource of a reference, in another version of its group if it has to be. Rejects with upstream's words. */
export async function resourceOfReference(
  kinds: KindFinder,
  { apiVersion = '', kind }: Omit<CrossVersionObjectReference, 'name'>,
): Promise<Resource> {
  const parts = apiVersion.split('/')
  if (parts.length > 2) throw new SpecError(`unexpected GroupVersion string: ${apiVersion}`)
  const group = parts.length === 2 ? (parts[0] ?? '') : ''
  const found =
    (await kinds.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion)) ??
    (await kinds.find((one) => one.kind === kind && one.group === group && one.servedByDefault))
  if (found === undefined) throw new Error(`no matches for kind "${kind}" in group "${group}"`)
  return found
}

/** Reads the scale from the server. `signal` ends the request. */
export async function readScaleTarget(
  { client, kinds, signal }: { client: Client; kinds: KindFinder; signal: AbortSignal },
  namespace: string,
  reference: CrossVersionObjectReference,
): Promise<ScaleTarget> {
  const resource = await resourceOfReference(kinds, reference)
  const scales = client.resource<Scale & KubeObject>(resource)
  const ref = { namespace, name: reference.name }
  const subresource = 'scale'
  let scale: Scale & KubeObject
  try {
    scale = await scales.get(ref, { subresource, signal })
  } catch (error) {
    // The definition may have changed.
    if (isStatusError(error, 'NotFound')) kinds.forget(resource)
    throw error
  }
  return {
    specReplicas: scale.spec?.replicas ?? 0,
    statusReplicas: scale.status?.replicas ?? 0,
    selector: scale.status?.selector ?? '',
    resize: async (replicas) => {
      const changed = { ...scale, spec: { ...scale.spec, replicas } }
      await scales.updateSubresource(ref, subresource, changed)
    },
  }
}
