/** stored-counts: how many objects a list looks at, from the watch cache (upstream: flowcontrol/request/object_count_tracker.go). */
import type { Resource } from '../../machinery/objects/resource.ts'
import type { RequestInfo } from '../request/request.ts'
import type { Caches } from '../watch-cache/caches.ts'

/** Undefined for resources that are not stored here. */
export function storedCounts(of: {
  cache: Caches
  served: readonly Resource[]
  custom: { find(path: string): Resource | undefined }
}): (info: RequestInfo) => number | undefined {
  const { cache, served, custom } = of
  const byPath = new Map<string, Resource>()
  for (const resource of served) {
    if (resource.virtual) continue
    byPath.set(`${resource.group}/${resource.version}/${resource.plural}`, resource)
  }
  return ({ group, version, plural }) => {
    const path = `${group}/${version}/${plural}`
    const resource = byPath.get(path) ?? custom.find(path)
    return resource === undefined ? undefined : cache.collection(resource).size
  }
}
