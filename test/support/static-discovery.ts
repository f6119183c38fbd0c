/** Discovery of the built-in resources, without a server. */
import type { Dialect } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { ServerResources } from '../../components/client/server-resources.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'

export function staticResources(dialect: Dialect, failed: readonly string[] = []): ServerResources {
  const all = resourcesOf(dialect).all.filter(({ servedByDefault }) => servedByDefault)
  const preferred = new Map<string, Resource>()
  for (const resource of all) {
    const id = `${resource.group}/${resource.plural}`
    if (!preferred.has(id)) preferred.set(id, resource)
  }
  return { all, preferred: [...preferred.values()], failed }
}
