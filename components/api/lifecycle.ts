/** What a resource's lifecycle means for the release that is served: deprecated or not, and the warning that says so. */
import { apiVersionOf } from '../machinery/objects/resource.ts'
import type { Resource } from '../machinery/objects/resource.ts'

/** The release whose API is served, `major.minor`. */
export const servedRelease = '1.32'

/** Negative when `a` is the older release, 0 when they are equal. Both are `major.minor`. */
export function compareReleases(a: string, b: string): number {
  const [majorA = 0, minorA = 0] = a.split('.').map(Number)
  const [majorB = 0, minorB = 0] = b.split('.').map(Number)
  return majorA - majorB || minorA - minorB
}

/** Whether requests to the resource are to be warned about, marked in the audit record and counted. */
export function isDeprecated(resource: Resource, release = servedRelease): boolean {
  const { deprecated } = resource.lifecycle
  return deprecated !== undefined && compareReleases(deprecated, release) <= 0
}

/** The text of the `Warning` header for a deprecated resource (upstream: apiserver pkg/endpoints/deprecation); else undefined. */
export function deprecationWarning(
  resource: Resource,
  release = servedRelease,
): string | undefined {
  if (!isDeprecated(resource, release)) return undefined
  const { deprecated, removed, replacement } = resource.lifecycle
  const unavailable = removed === undefined ? '' : `, unavailable in v${removed}+`
  const instead = replacement === undefined ? '' : `; use ${replacement}`
  return `${apiVersionOf(resource)} ${resource.kind} is deprecated in v${deprecated}+${unavailable}${instead}`
}
