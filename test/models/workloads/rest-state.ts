/** What a namespace of workloads must come to once nothing is in their way. */
import type {
  DaemonSet,
  Deployment,
  Job,
  Pod,
  ReplicaSet,
  StatefulSet,
} from '../../../components/api/generated/types.ts'
import type { ResourceKey } from '../../../components/api/resources.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { Client } from '../../../components/client/client.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'

const isSeen = ({ metadata }: KubeObject, observed: number | undefined): boolean =>
  observed === metadata.generation

/** What is missing, as `StatefulSet set-a: 1 of 3 ready`; empty for nothing. */
function setFault(object: StatefulSet): string {
  const { replicas = 1 } = object.spec ?? {}
  const { status } = object
  const { readyReplicas = 0, updatedReplicas = 0, replicas: all = 0 } = status ?? {}
  if (!isSeen(object, status?.observedGeneration)) return 'not seen'
  if (readyReplicas !== replicas || all !== replicas) return `${readyReplicas} of ${replicas} ready`
  const isUpdated = replicas === 0 || updatedReplicas === replicas
  return isUpdated ? '' : `${updatedReplicas} of ${replicas} updated`
}

function deploymentFault(object: Deployment): string {
  const { replicas = 1 } = object.spec ?? {}
  const { status } = object
  const { availableReplicas = 0, updatedReplicas = 0, replicas: all = 0 } = status ?? {}
  if (!isSeen(object, status?.observedGeneration)) return 'not seen'
  if (availableReplicas !== replicas) return `${availableReplicas} of ${replicas} available`
  return updatedReplicas === replicas && all === replicas ? '' : `${updatedReplicas} updated`
}

function replicaSetFault(object: ReplicaSet): string {
  const { replicas = 1 } = object.spec ?? {}
  const { availableReplicas = 0, observedGeneration } = object.status ?? {}
  if (!isSeen(object, observedGeneration)) return 'not seen'
  return availableReplicas === replicas ? '' : `${availableReplicas} of ${replicas} available`
}

function daemonSetFault(object: DaemonSet, nodes: number): string {
  const {
    observedGeneration,
    numberAvailable = 0,
    updatedNumberScheduled = 0,
  } = object.status ?? {}
  if (!isSeen(object, observedGeneration)) return 'not seen'
  if (numberAvailable !== nodes) return `${numberAvailable} of ${nodes} available`
  return updatedNumberScheduled === nodes ? '' : `${updatedNumberScheduled} of ${nodes} updated`
}

function jobFault({ status }: Job): string {
  const hasEnded = (status?.conditions ?? []).some(
    ({ type, status: is }) => ['Complete', 'Failed'].includes(type) && is === 'True',
  )
  if (!hasEnded) return `neither complete nor failed: ${JSON.stringify(status)}`
  const { succeeded = [], failed = [] } = status?.uncountedTerminatedPods ?? {}
  return succeeded.length + failed.length === 0 ? '' : 'uncounted pods'
}

/** A pod may have an end, or none; anything else is on its way. */
function podFault({ metadata, status }: Pod): string {
  if (metadata.deletionTimestamp !== undefined) return 'terminating'
  if (metadata.finalizers !== undefined) return `held by ${metadata.finalizers.join(', ')}`
  const phase = status?.phase ?? ''
  return ['Running', 'Succeeded', 'Failed'].includes(phase) ? '' : phase
}

/** Lines that say what has not settled; empty when all has. */
export async function unsettled(client: Client, namespace: string): Promise<string[]> {
  const resources = resourcesOf(client.dialect)
  const nodes = (await client.resource(resources.nodes).list()).items.length
  const faultsOf = async <T extends KubeObject>(
    key: ResourceKey,
    faultOf: (object: T) => string,
  ): Promise<string[]> => {
    const { items } = await client.resource<T>(resources[key]).list({ namespace })
    return items.flatMap((object) => {
      const isGoing = key !== 'pods' && object.metadata.deletionTimestamp !== undefined
      const fault = isGoing ? 'terminating' : faultOf(object)
      return fault === '' ? [] : [`${resources[key].kind} ${object.metadata.name}: ${fault}`]
    })
  }
  const found = await Promise.all([
    faultsOf<StatefulSet>('statefulSets', setFault),
    faultsOf<Deployment>('deployments', deploymentFault),
    faultsOf<ReplicaSet>('replicaSets', replicaSetFault),
    faultsOf<DaemonSet>('daemonSets', (object) => daemonSetFault(object, nodes)),
    faultsOf<Job>('jobs', jobFault),
    faultsOf<Pod>('pods', podFault),
  ])
  return found.flat()
}
