/** Pod amounts: what a pod asks of its node (upstream: pkg/api/v1/resource/helpers.go, PodRequests). */
import type { Amounts } from './amounts.ts'
import { addAmounts, amountsOf, noAmounts, raiseTo } from './amounts.ts'
import type { Container, Pod } from './generated/types.ts'

/**
 * What a pod needs at its peak: the sum of its containers and of the restartable init containers, or what an ordinary
 * init container needs beside the restartable ones started before it, whichever is more; plus the overhead.
 */
export function podAmounts(pod: Pod, ofContainer: (container: Container) => Amounts): Amounts {
  const total = noAmounts()
  for (const container of pod.spec?.containers ?? []) addAmounts(total, ofContainer(container))
  const sidecars = noAmounts()
  const initPeak = noAmounts()
  for (const container of pod.spec?.initContainers ?? []) {
    const own = ofContainer(container)
    if (container.restartPolicy === 'Always') {
      addAmounts(total, own)
      addAmounts(sidecars, own)
      raiseTo(initPeak, sidecars)
    } else {
      addAmounts(own, sidecars)
      raiseTo(initPeak, own)
    }
  }
  raiseTo(total, initPeak)
  addAmounts(total, amountsOf(pod.spec?.overhead))
  return total
}

/** The pod's requests. */
export function podRequests(pod: Pod): Amounts {
  return podAmounts(pod, (container) => amountsOf(container.resources?.requests))
}
