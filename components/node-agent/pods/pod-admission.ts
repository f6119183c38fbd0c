/**
 * PodAdmission: whether the node takes a pod that was bound to it (upstream: kubelet/sysctl/allowlist.go and
 * kubelet/lifecycle/predicate.go). Pure.
 */
import type { Amounts } from '../../api/amounts.ts'
import { addAmounts, amountsOf, noAmounts } from '../../api/amounts.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { Pod } from '../../api/generated/types.ts'
import { podRequests } from '../../api/pod-amounts.ts'
import { isExtendedResource } from '../../api/resource-names.ts'
import { quantityValue } from '../../machinery/values/quantity.ts'
import { sysctlFault } from './sysctl-allowlist.ts'

/** In upstream's words; the pod fails with them. */
export interface Rejection {
  readonly reason: string
  readonly message: string
}

/** Undefined: the pod is taken. `others` are those that the node has taken and that have not ended. */
export type AdmitPod = (pod: Pod, others: readonly Pod[]) => Rejection | undefined

export interface PodAdmissionOptions {
  readonly dialect: Dialect
  /** The node's allocatable resources now. */
  readonly allocatable: () => Readonly<Record<string, string>>
  readonly allowedUnsafeSysctls: readonly string[]
}

interface Need {
  readonly name: string
  readonly requested: number
  readonly used: number
  readonly capacity: number
}

function* needsOf(requests: Amounts, used: Amounts, capacity: Amounts): Iterable<Need> {
  const plain = [
    ['cpu', 'milliCpu'],
    ['memory', 'memory'],
    ['ephemeral-storage', 'ephemeralStorage'],
  ] as const
  for (const [name, field] of plain) {
    yield { name, requested: requests[field], used: used[field], capacity: capacity[field] }
  }
  for (const [name, requested] of requests.scalars) {
    const amounts = { used: used.scalars.get(name) ?? 0, capacity: capacity.scalars.get(name) ?? 0 }
    yield { name, requested, ...amounts }
  }
}

function shortOf({ name, requested, used, capacity }: Need): Rejection {
  const message =
    `Node didn't have enough resource: ${name}, ` +
    `requested: ${requested}, used: ${used}, capacity: ${capacity}`
  return { reason: `OutOf${name}`, message }
}

function resourceFault(
  pod: Pod,
  others: readonly Pod[],
  { dialect, allocatable }: PodAdmissionOptions,
): Rejection | undefined {
  const list = allocatable()
  const allowedPods = list['pods'] === undefined ? Infinity : quantityValue(list['pods'])
  if (others.length + 1 > allowedPods) {
    return shortOf({ name: 'pods', requested: 1, used: others.length, capacity: allowedPods })
  }
  const used = noAmounts()
  for (const other of others) addAmounts(used, podRequests(other))
  for (const need of needsOf(podRequests(pod), used, amountsOf(list))) {
    // Extended resources that the node does not know are the cluster's.
    if (list[need.name] === undefined && isExtendedResource(need.name, dialect)) continue
    if (need.requested > 0 && need.requested > need.capacity - need.used) return shortOf(need)
  }
  return undefined
}

export function createPodAdmission(options: PodAdmissionOptions): AdmitPod {
  return (pod, others) => {
    const message = sysctlFault(pod, options.allowedUnsafeSysctls)
    if (message !== undefined) return { reason: 'SysctlForbidden', message }
    return resourceFault(pod, others, options)
  }
}
