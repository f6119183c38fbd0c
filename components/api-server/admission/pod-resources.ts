/** The requests and limits of a whole Pod (upstream: component-helpers resource PodRequests, PodLimits). */
import type { Container, PodSpec } from '../../api/generated/types.ts'
import { getOwn, setOwn } from '../../machinery/values/json-copy.ts'
import { addQuantities, compareQuantities } from '../../machinery/values/quantity.ts'

export type Amounts = Readonly<Record<string, string>>

function sum(a: Amounts, b: Amounts | undefined): Amounts {
  const total = { ...a }
  for (const [name, amount] of Object.entries(b ?? {})) {
    const before = getOwn(total, name)
    setOwn(total, name, before === undefined ? amount : addQuantities(before, amount))
  }
  return total
}

function most(a: Amounts, b: Amounts): Amounts {
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
export function podAmounts(spec: PodSpec, kind: 'requests' | 'limits'): Amounts {
  const of = ({ resources }: Container): Amounts => resources?.[kind] ?? {}
  let together: Amounts = {}
  for (const container of spec.containers) together = sum(together, of(container))
  let sidecars: Amounts = {}
  let highest: Amounts = {}
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy === 'Always') {
      together = sum(together, of(container))
      sidecars = sum(sidecars, of(container))
      highest = most(highest, sidecars)
    } else highest = most(highest, sum(sidecars, of(container)))
  }
  const whole = most(together, highest)
  const overhead = Object.entries(spec.overhead ?? {}).filter(
    ([name]) => kind === 'requests' || getOwn(whole, name) !== undefined,
  )
  return sum(whole, Object.fromEntries(overhead))
}
