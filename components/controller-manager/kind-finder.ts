/**
 * Finds the resource of a kind that an object refers to: built-in kinds at once, others by discovery, when one is asked for
 * that is not known yet (upstream: the deferred discovery RESTMapper).
 */
import type { Discover } from '../client/server-resources.ts'
import type { Resource } from '../machinery/objects/resource.ts'

export interface KindFinder {
  /** The first resource that is wanted; undefined when the server has none. Rejects when discovery fails. */
  find(isWanted: (resource: Resource) => boolean): Promise<Resource | undefined>
  /** The server answered otherwise than the resource says: it is discovered anew when it is asked for again. */
  forget(resource: Resource): void
}

export function createKindFinder(builtIn: readonly Resource[], discover: Discover): KindFinder {
  let discovered: readonly Resource[] = []
  return {
    find: async (isWanted) => {
      const known = builtIn.find(isWanted) ?? discovered.find(isWanted)
      if (known !== undefined) return known
      discovered = (await discover()).all
      return discovered.find(isWanted)
    },
    forget: (resource) => {
      discovered = discovered.filter((one) => one !== resource)
    },
  }
}
