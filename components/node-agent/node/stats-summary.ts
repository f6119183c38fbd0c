/** StatsSummary: the node's `/stats/summary`. Simulated containers use nothing, so only the process itself has figures. */
import type { Pod } from '../../api/generated/types.ts'
import { timestamp } from '../../component-base/clock.ts'

export function statsSummary(of: {
  nodeName: string
  startedMs: number
  pods: readonly Pod[]
}): object {
  const { nodeName, startedMs, pods } = of
  const { user, system } = process.cpuUsage()
  const startTime = timestamp(startedMs)
  return {
    node: {
      nodeName,
      startTime,
      cpu: { time: startTime, usageCoreNanoSeconds: (user + system) * 1000 },
      memory: { time: startTime, workingSetBytes: process.memoryUsage.rss() },
    },
    pods: pods.map(({ metadata, spec, status }) => ({
      podRef: { name: metadata.name, namespace: metadata.namespace, uid: metadata.uid },
      startTime: status?.startTime ?? startTime,
      containers: (spec?.containers ?? []).map(({ name }) => ({
        name,
        startTime: status?.startTime ?? startTime,
        cpu: { time: startTime, usageNanoCores: 0, usageCoreNanoSeconds: 0 },
        memory: { time: startTime, workingSetBytes: 0 },
      })),
    })),
  }
}
