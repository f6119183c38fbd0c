/** Owners that are known to be gone, so that a thousand dependents ask about one only once (upstream: uid_cache.go). */
import type { OwnerReference } from '../../machinery/objects/object.ts'

export interface AbsentOwners {
  add(reference: Omit<OwnerReference, 'controller'>, namespace: string): void
  has(reference: OwnerReference, namespace: string): boolean
}

/** As upstream remembers. */
const maxRemembered = 500

/** `namespace` is where the owner was looked for: the same reference from elsewhere may be right. '' is cluster-scoped. */
export function createAbsentOwners(): AbsentOwners {
  const known = new Set<string>()
  const keyOf = (
    { apiVersion, kind, name, uid }: Omit<OwnerReference, 'controller'>,
    namespace: string,
  ): string => [uid, apiVersion, kind, namespace, name].join('|')
  return {
    add: (reference, namespace) => {
      const key = keyOf(reference, namespace)
      known.delete(key)
      known.add(key)
      const [oldest] = known
      if (known.size > maxRemembered && oldest !== undefined) known.delete(oldest)
    },
    has: (reference, namespace) => known.has(keyOf(reference, namespace)),
  }
}
