/** Amounts: resource lists as plain numbers, so that fitting is arithmetic. */
import { quantityMilliValue, quantityValue } from '../machinery/values/quantity.ts'

/** Amounts of the countable resources: CPU in thousandths, the rest in whole units (bytes for memory). */
export interface Amounts {
  milliCpu: number
  memory: number
  ephemeralStorage: number
  /** Extended resources and huge pages, by name. */
  readonly scalars: Map<string, number>
}

/** Clusters use few distinct quantities, many times; the bound keeps odd input from filling the memory. */
function remembered(parse: (text: string) => number): (text: string) => number {
  const known = new Map<string, number>()
  return (text) => {
    let value = known.get(text)
    if (value === undefined) {
      value = parse(text)
      if (known.size >= 10_000) known.clear()
      known.set(text, value)
    }
    return value
  }
}

const milliValue = remembered(quantityMilliValue)
const wholeValue = remembered(quantityValue)

/** Amounts of nothing; the caller may add to it. */
export function noAmounts(): Amounts {
  return { milliCpu: 0, memory: 0, ephemeralStorage: 0, scalars: new Map() }
}

/** A copy that may be changed. */
export function copyAmounts(amounts: Readonly<Amounts>): Amounts {
  return { ...amounts, scalars: new Map(amounts.scalars) }
}

/** Adds `sign` times `more` to `total` in place. */
export function addAmounts(total: Amounts, more: Readonly<Amounts>, sign: 1 | -1 = 1): void {
  total.milliCpu += sign * more.milliCpu
  total.memory += sign * more.memory
  total.ephemeralStorage += sign * more.ephemeralStorage
  for (const [name, amount] of more.scalars) {
    total.scalars.set(name, (total.scalars.get(name) ?? 0) + sign * amount)
  }
}

/** A resource list (`{cpu: '500m'}`) in amounts; `pods` is not among them. */
export function amountsOf(list: Readonly<Record<string, string>> | undefined): Amounts {
  const amounts = noAmounts()
  for (const [name, quantity] of Object.entries(list ?? {})) {
    if (name === 'cpu') amounts.milliCpu = milliValue(quantity)
    else if (name === 'memory') amounts.memory = wholeValue(quantity)
    else if (name === 'ephemeral-storage') amounts.ephemeralStorage = wholeValue(quantity)
    else if (name !== 'pods') amounts.scalars.set(name, wholeValue(quantity))
  }
  return amounts
}

/** Raises `total` in place to at least `other` in every resource. */
export function raiseTo(total: Amounts, other: Readonly<Amounts>): void {
  total.milliCpu = Math.max(total.milliCpu, other.milliCpu)
  total.memory = Math.max(total.memory, other.memory)
  total.ephemeralStorage = Math.max(total.ephemeralStorage, other.ephemeralStorage)
  for (const [name, amount] of other.scalars) {
    total.scalars.set(name, Math.max(total.scalars.get(name) ?? 0, amount))
  }
}
