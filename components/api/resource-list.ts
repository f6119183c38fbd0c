/** ResourceList: amounts by resource name, and sums of them (upstream: apiserver/pkg/quota/v1/resources.go). */
import { getOwn, setOwn } from '../machinery/values/json-copy.ts'
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  subtractQuantities,
} from '../machinery/values/quantity.ts'

/** Quantities by name: `{ cpu: '500m' }`. */
export type ResourceList = Readonly<Record<string, string>>

/** The sum, name by name. */
export function addLists(a: ResourceList, b: ResourceList | undefined): ResourceList {
  const total = { ...a }
  for (const [name, amount] of Object.entries(b ?? {})) {
    const before = getOwn(total, name)
    setOwn(total, name, before === undefined ? amount : addQuantities(before, amount))
  }
  return total
}

/** `a` less `b`, name by name; never below zero. */
export function increaseOver(a: ResourceList, b: ResourceList): ResourceList {
  const rest: Record<string, string> = {}
  for (const [name, amount] of Object.entries(a)) {
    const left = subtractQuantities(amount, getOwn(b, name) ?? '0')
    setOwn(rest, name, compareQuantities(left, '0') > 0 ? left : '0')
  }
  return rest
}

/** The entries whose name and amount pass. */
export function filterList(
  list: ResourceList,
  keep: (name: string, amount: string) => boolean,
): ResourceList {
  return Object.fromEntries(Object.entries(list).filter(([name, amount]) => keep(name, amount)))
}

/** The entries of these names. */
export function onlyNamed(list: ResourceList, names: readonly string[]): ResourceList {
  return filterList(list, (name) => names.includes(name))
}

/** Names whose amount in `list` is more than in `most`; names that `most` lacks have no limit. */
export function namesAbove(list: ResourceList, most: ResourceList): string[] {
  return Object.entries(list)
    .filter(([name, amount]) => {
      const limit = getOwn(most, name)
      return limit !== undefined && compareQuantities(amount, limit) > 0
    })
    .map(([name]) => name)
}

/** The same names with equal amounts, however they are written. */
export function sameLists(a: ResourceList | undefined, b: ResourceList | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => {
      const other = getOwn(b, name)
      return other !== undefined && compareQuantities(a[name] ?? '0', other) === 0
    })
  )
}

/** `pods=1,requests.cpu=500m`, by name. */
export function showList(list: ResourceList): string {
  return Object.keys(list)
    .toSorted()
    .map((name) => `${name}=${canonicalQuantity(list[name] ?? '0')}`)
    .join(',')
}
