/** Counts objects of any kind, custom ones included (upstream: apiserver/pkg/quota/v1/generic/evaluator.go). */
import { objectCountName, ownNames, type QuotaEvaluator } from './quota-evaluator.ts'

/** `alias` is an older name of the same count: `secrets` for `count/secrets`. */
export function objectCountQuota(
  of: { readonly group: string; readonly plural: string },
  alias?: string,
): QuotaEvaluator {
  const { group, plural } = of
  const own = [objectCountName(of), ...(alias === undefined ? [] : [alias])]
  const usage = Object.fromEntries(own.map((name) => [name, '1']))
  return {
    group,
    plural,
    countsOnly: true,
    changesOnUpdate: false,
    hasScopes: false,
    matchingResources: (names) => ownNames(names, own),
    matchesScope: () => false,
    usage: () => usage,
  }
}
