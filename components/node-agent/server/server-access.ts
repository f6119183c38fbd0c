/** ServerAccess: what a request to the node's server asks of the API server's authorization (upstream: kubelet server/auth.go). Pure. */
import type { AccessAttributes } from '../../client/delegated-auth.ts'
import { getOwn } from '../../machinery/values/json-copy.ts'

const verbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** First path segment -> sub-resource of `nodes`; everything else is `proxy`. */
const subresources: Readonly<Record<string, string>> = {
  stats: 'stats',
  metrics: 'metrics',
  logs: 'log',
  checkpoint: 'checkpoint',
}

/** The attributes of a SubjectAccessReview for this request to this node. */
export function accessAttributes(request: {
  method: string
  path: string
  nodeName: string
}): AccessAttributes {
  const segment = request.path.split('/')[1] ?? ''
  return {
    resourceAttributes: {
      verb: getOwn(verbs, request.method) ?? '',
      version: 'v1',
      resource: 'nodes',
      subresource: getOwn(subresources, segment) ?? 'proxy',
      name: request.nodeName,
    },
  }
}
