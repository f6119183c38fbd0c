/** The usage of a simulated container by its pod's annotations, else by the rules of a file; its requests and its limits. */
import type { Container, Pod } from '../../api/generated/types.ts'
import { readUsage } from '../../api/simulated-usage.ts'
import type { Usage } from '../../api/simulated-usage.ts'
import { podWish } from '../../api/simulation.ts'
import { parseQuantity } from '../../machinery/values/quantity.ts'
import type { UsagePlan, UsagePlans } from './usage-meter.ts'
import type { UsageRules } from './usage-rules.ts'

const resources = {
  cpu: { annotation: 'cpuUsage', usage: readUsage('1m') as Usage, whole: 1 },
  memory: { annotation: 'memoryUsage', usage: readUsage('8Mi') as Usage, whole: 128 * 1024 * 1024 },
} as const

const unitsOf = (amount: string | undefined): number | undefined =>
  amount === undefined ? undefined : Number(parseQuantity(amount).nanos) / 1e9

function planOf(
  pod: Pod,
  container: Container,
  { resource, rules }: { resource: keyof typeof resources; rules: UsageRules },
): UsagePlan {
  const { annotation, usage, whole } = resources[resource]
  const limit = unitsOf(container.resources?.limits?.[resource])
  const request = unitsOf(container.resources?.requests?.[resource])
  return {
    usage:
      podWish(pod.metadata.annotations, annotation, container.name) ??
      rules.usageOf(pod, container.name, resource) ??
      usage,
    // Of a container without requests, percentages are of a core and of 128 MiB.
    requested: request ?? limit ?? whole,
    limit: limit ?? Infinity,
  }
}

export function usagePlansOf(pod: Pod, container: Container, rules: UsageRules): UsagePlans {
  return {
    cpu: planOf(pod, container, { resource: 'cpu', rules }),
    memory: planOf(pod, container, { resource: 'memory', rules }),
  }
}
