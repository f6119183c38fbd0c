/** StatsSummary: the node's `/stats/summary` (upstream: staging/src/k8s.io/kubelet/pkg/apis/stats/v1alpha1). */
import { timestamp } from '../../component-base/clock.ts'
import type { NodeUsage, Summed, UsedPod } from './node-usage.ts'
import { podUsage } from './node-usage.ts'

const nano = (units: number): number => Math.round(units * 1e9)

function figures({ cores, coreSeconds, memoryBytes }: Summed, time: string): object {
  return {
    cpu: { time, usageNanoCores: nano(cores), usageCoreNanoSeconds: nano(coreSeconds) },
    memory: { time, usageBytes: memoryBytes, workingSetBytes: memoryBytes, rssBytes: memoryBytes },
  }
}

function podStats(used: UsedPod, time: string): object {
  const { metadata, status } = used.pod
  return {
    podRef: { name: metadata.name, namespace: metadata.namespace, uid: metadata.uid },
    startTime: status?.startTime ?? time,
    containers: used.containers.map(({ name, usage }) => ({
      name,
      startTime: timestamp(usage.startedMs),
      ...figures(usage, time),
    })),
    ...figures(podUsage(used), time),
  }
}

export function statsSummary(nodeName: string, usage: NodeUsage): object {
  const time = timestamp(usage.timeMs)
  const { cpu, memory } = figures(usage, time) as { cpu: object; memory: object }
  const { memoryCapacityBytes } = usage
  const availableBytes =
    memoryCapacityBytes === undefined
      ? {}
      : { availableBytes: memoryCapacityBytes - usage.memoryBytes }
  return {
    node: {
      nodeName,
      startTime: timestamp(usage.startedMs),
      cpu,
      memory: { ...memory, ...availableBytes },
    },
    pods: usage.pods.map((used) => podStats(used, time)),
  }
}
