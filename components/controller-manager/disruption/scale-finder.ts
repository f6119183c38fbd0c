/**
 * Finds how many pods a workload wants: built-in workloads in the caches, any other by its sub-resource `scale`
 * (upstream: disruption.go finders, getScaleController).
 */
import type { Discover } from '../../client/server-resources.ts'
import type { KubeObject, ObjectMeta, OwnerReference } from '../../machinery/objects/object.ts'
import { controllerOf } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { apiVersionOf, qualifiedName } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerContext } from '../controller-context.ts'
import { createKindFinder } from '../kind-finder.ts'
import type { FindScale, Scale } from './expected-pods.ts'

/** Fields that all workloads with a scale share. */
interface Scaled {
  metadata: ObjectMeta
  spec?: { replicas?: number }
}

/** Looks workloads up. A ReplicaSet of a Deployment counts as that Deployment. */
export function createScaleFinder(context: ControllerContext, discover: Discover): FindScale {
  const { informers, resources } = context
  const { replicaSets, deployments, replicationControllers, statefulSets } = resources
  const scaled = [replicaSets, deployments, replicationControllers, statefulSets].map(
    (resource) =>
      [`${resource.group} ${resource.kind}`, informers.informer<Scaled>(resource)] as const,
  )
  const finders = new Map(scaled)
  const readScale = createScaleReader(context, discover)
  const find: FindScale = async (controller, namespace) => {
    const { apiVersion, kind, name, uid } = controller
    const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['']
    const informer = finders.get(`${group} ${kind}`)
    if (informer === undefined) return await readScale(controller, namespace)
    const workload = informer.get(`${namespace}/${name}`)
    if (workload === undefined || workload.metadata.uid !== uid) return undefined
    const above = controllerOf(workload)
    if (kind === 'ReplicaSet' && above?.kind === 'Deployment') return find(above, namespace)
    return { uid, replicas: workload.spec?.replicas ?? 1 }
  }
  return find
}

/** Reads scales from the server. Kinds are discovered when one is asked for that is not known yet. */
function createScaleReader(
  { client, resources }: ControllerContext,
  discover: Discover,
): FindScale {
  const kinds = createKindFinder(resources.all, discover)
  const resourceOf = async ({ apiVersion, kind }: OwnerReference): Promise<Resource> => {
    const found = await kinds.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion)
    if (found === undefined)
      throw new Error(`no matches for kind "${kind}" in version "${apiVersion}"`)
    return found
  }
  return async (controller, namespace): Promise<Scale | undefined> => {
    const resource = await resourceOf(controller)
    if (!resource.subresources.some(({ name }) => name === 'scale')) {
      // The definition may have changed.
      kinds.forget(resource)
      throw new Error(`${qualifiedName(resource)} does not implement the scale subresource`)
    }
    const { name, uid } = controller
    try {
      const options = { subresource: 'scale' }
      const scale: KubeObject = await client.resource(resource).get({ namespace, name }, options)
      const { replicas = 0 } = (scale['spec'] ?? {}) as { replicas?: number }
      return scale.metadata.uid === uid ? { uid, replicas } : undefined
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return undefined
      throw error
    }
  }
}
