/** NodeUsage: what a node and its containers use now, from its runtime. Simulated nodes have a small, constant usage of their own. */
import type { Pod } from '../../api/generated/types.ts'
import { quantityValue } from '../../machinery/values/quantity.ts'
import type { FoundContainer } from '../pods/pod-worker.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import type { ContainerUsage } from '../runtime/usage-meter.ts'

/** A container that runs, and its usage. */
export interface UsedContainer {
  readonly name: string
  readonly id: string
  readonly image: string
  readonly usage: ContainerUsage
}

export interface UsedPod {
  readonly pod: Pod
  /** Those that run; at least one. */
  readonly containers: readonly UsedContainer[]
}

export interface NodeUsage {
  readonly startedMs: number
  readonly timeMs: number
  readonly cores: number
  readonly coreSeconds: number
  readonly memoryBytes: number
  /** Of the machine; undefined before its first report. */
  readonly memoryCapacityBytes: number | undefined
  readonly coreCapacity: number | undefined
  readonly pods: readonly UsedPod[]
}

/** Of the agent, the runtime and the system. */
const own = { cores: 0.02, memoryBytes: 100 * 1024 * 1024 }

type FindContainer = (namespace: string, pod: string, container: string) => Found | undefined
type Found = Pick<FoundContainer, 'id'>

function usedPod(pod: Pod, runtime: ContainerRuntime, find: FindContainer): UsedPod {
  const { namespace = '', name: podName = '' } = pod.metadata
  const { containers = [], initContainers = [] } = pod.spec ?? {}
  const used = [...initContainers, ...containers].flatMap(({ name, image = '' }) => {
    const id = find(namespace, podName, name)?.id
    const usage = id === undefined ? undefined : runtime.usage(id)
    return id === undefined || usage === undefined ? [] : [{ name, id, image, usage }]
  })
  return { pod, containers: used }
}

export function nodeUsage(of: {
  nodeName: string
  startedMs: number
  nowMs: number
  pods: readonly Pod[]
  container: FindContainer
  runtime: ContainerRuntime
  capacity: Readonly<Record<string, string>> | undefined
}): NodeUsage {
  const { nodeName, startedMs, nowMs, runtime, capacity } = of
  const pods = of.pods
    .map((pod) => usedPod(pod, runtime, of.container))
    .filter(({ containers }) => containers.length > 0)
  const amount = (name: string): number | undefined =>
    capacity?.[name] === undefined ? undefined : quantityValue(capacity[name])
  let { cores, memoryBytes } = own
  let coreSeconds = (own.cores * (nowMs - startedMs)) / 1000 + runtime.endedCoreSeconds(nodeName)
  for (const { usage } of pods.flatMap(({ containers }) => containers)) {
    cores += usage.cores
    coreSeconds += usage.coreSeconds
    memoryBytes += usage.memoryBytes
  }
  return {
    startedMs,
    timeMs: nowMs,
    cores,
    coreSeconds,
    memoryBytes,
    memoryCapacityBytes: amount('memory'),
    coreCapacity: amount('cpu'),
    pods,
  }
}

/** What can be summed over containers. */
export type Summed = Pick<ContainerUsage, 'cores' | 'coreSeconds' | 'memoryBytes'>

/** The sum over a pod's containers. */
export function podUsage({ containers }: UsedPod): Summed {
  let sum = { cores: 0, coreSeconds: 0, memoryBytes: 0 }
  for (const { usage } of containers) {
    sum = {
      cores: sum.cores + usage.cores,
      coreSeconds: sum.coreSeconds + usage.coreSeconds,
      memoryBytes: sum.memoryBytes + usage.memoryBytes,
    }
  }
  return sum
}
