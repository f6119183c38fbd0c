/** PodInfo: what the scheduler needs of one pod, computed once so that looking at a node costs only arithmetic. */
import type { Amounts } from '../api/amounts.ts'
import { amountsOf } from '../api/amounts.ts'
import type { Container, Pod, Toleration } from '../api/generated/types.ts'
import { podAmounts, podRequests } from '../api/pod-amounts.ts'
import { keyOf } from '../machinery/objects/object.ts'
import type { PodTerms } from './pod-term.ts'
import { podTermsOf } from './pod-term.ts'

export interface HostPort {
  readonly ip: string
  readonly protocol: string
  readonly port: number
}

export interface PodInfo {
  readonly pod: Pod
  readonly key: string
  readonly uid: string
  readonly priority: number
  readonly requests: Readonly<Amounts>
  /** Requests for scoring: a container without a request counts as 100m CPU and 200 MB, so that empty pods spread too. */
  readonly scoringMilliCpu: number
  readonly scoringMemory: number
  readonly hostPorts: readonly HostPort[]
  readonly tolerations: readonly Toleration[]
  /** Rules about other pods, ready to be matched. */
  readonly terms: PodTerms
}

const defaultMilliCpu = 100
const defaultMemory = 200 * 1024 * 1024

function withScoringDefaults(container: Container): Amounts {
  const requests = container.resources?.requests
  const amounts = amountsOf(requests)
  if (requests?.['cpu'] === undefined) amounts.milliCpu = defaultMilliCpu
  if (requests?.['memory'] === undefined) amounts.memory = defaultMemory
  return amounts
}

export function hostPortsOf(pod: Pod): HostPort[] {
  const ports: HostPort[] = []
  const sidecars = (pod.spec?.initContainers ?? []).filter((c) => c.restartPolicy === 'Always')
  for (const container of [...sidecars, ...(pod.spec?.containers ?? [])]) {
    for (const { hostPort, hostIP, protocol } of container.ports ?? []) {
      if (hostPort === undefined || hostPort <= 0) continue
      ports.push({ ip: hostIP || '0.0.0.0', protocol: protocol || 'TCP', port: hostPort })
    }
  }
  return ports
}

/** Everything plugins ask of a pod. */
export function podInfoOf(pod: Pod): PodInfo {
  const scoring = podAmounts(pod, withScoringDefaults)
  return {
    pod,
    key: keyOf(pod),
    uid: pod.metadata.uid ?? '',
    priority: pod.spec?.priority ?? 0,
    requests: podRequests(pod),
    scoringMilliCpu: scoring.milliCpu,
    scoringMemory: scoring.memory,
    hostPorts: hostPortsOf(pod),
    tolerations: pod.spec?.tolerations ?? [],
    terms: podTermsOf(pod),
  }
}
