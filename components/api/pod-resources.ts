/** The requests and limits of a whole Pod (upstream: component-helpers resource PodRequests, PodLimits). */
import type { Container, PodSpec } from './generated/types.ts'
import { getOwn, setOwn } from '../machinery/values/json-copy.ts'
import { compareQuantities } from '../machinery/values/quantity.ts'
import { addLists, type ResourceList } from './resource-list.ts'

function most(a: ResourceList, b: ResourceList): ResourceList {
  const highest = { ...a }
  for (const [name, amount] of Object.entries(b)) {
    const before = getOwn(highest, name)
    if (before === undefined || compareQuantities(amount, before) > 0) setOwn(highest, name, amount)
  }
  return highest
}

/**
 * The sum of containers and sidecars, or the highest init container with the sidecars started before it, whichever is more.
 * The overhead is added; to limits only of resources that have one.
 */
export function podAmounts(spec: PodSpec, kind: 'requests' | 'limits'): ResourceList {
  const of = ({ resources }: Container): ResourceList => resources?.[kind] ?? {}
  let together: ResourceList = {}
  for (const container of spec.containers) together = addLists(together, of(container))
  let sidecars: ResourceList = {}
  let highest: ResourceList = {}
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy === 'Always') {
      together = addLists(together, of(container))
      sidecars = addLists(sidecars, of(container))
      highest = most(highest, sidecars)
    } else highest = most(highest, addLists(sidecars, of(container)))
  }
  const whole = most(together, highest)
  const overhead = Object.entries(spec.overhead ?? {}).filter(
    ([name]) => kind === 'requests' || getOwn(whole, name) !== undefined,
  )
  return addLists(whole, Object.fromEntries(overhead))
}
