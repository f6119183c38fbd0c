/** request-labels: the labels of a request in metrics (upstream: apiserver pkg/endpoints/metrics CleanVerb, CleanScope). */
import type { RequestContext } from '../request/request.ts'

const healthPaths = new Set(['/healthz', '/livez', '/readyz'])
const connecting = new Set(['proxy', 'exec', 'attach', 'portforward'])
const applyType = 'application/apply-patch'

/** Whether a request is for one object, a namespace or the cluster. */
export function scopeOf({ info }: RequestContext): string {
  if (info.name !== '' || info.verb === 'create') return 'resource'
  return info.namespace === '' ? 'cluster' : 'namespace'
}

/** The verb in upstream's words; `other` for what a client made up, so that no client chooses the number of series. */
export function verbOf(context: RequestContext): string {
  const { verb, isResourceRequest, subresource } = context.info
  if (context.resource === undefined && isResourceRequest) return 'other'
  if (connecting.has(subresource)) return 'CONNECT'
  switch (verb) {
    case 'create':
      return 'POST'
    case 'update':
      return 'PUT'
    case 'patch':
      return String(context.http.headers['content-type']).startsWith(applyType) ? 'APPLY' : 'PATCH'
    case 'get':
    case 'list':
    case 'watch':
    case 'delete':
    case 'deletecollection':
    case 'post':
    case 'put':
      return verb.toUpperCase()
    default:
      return 'other'
  }
}

/** The sub-resource, if the resource has it; of a health check its path. */
export function subresourceOf({ info, resource }: RequestContext): string {
  if (resource !== undefined) {
    return resource.subresources.some(({ name }) => name === info.subresource)
      ? info.subresource
      : ''
  }
  return healthPaths.has(info.path) ? info.path : ''
}
