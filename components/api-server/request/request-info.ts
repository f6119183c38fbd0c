/** request-info: URL and method -> verb, group, resource, namespace, name, sub-resource (upstream: requestinfo.go). */
import { badRequest } from '../../machinery/objects/status-error.ts'
import { getOwn } from '../../machinery/values/json-copy.ts'
import type { RequestInfo } from './request.ts'

/** Sub-resources of Namespace itself: `/namespaces/x/status` is not a resource named status in namespace x. */
const namespaceSubresources = new Set(['status', 'finalize'])

const methodVerbs: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
  GET: 'get',
  HEAD: 'get',
}

function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch (error) {
    throw Object.assign(badRequest(`invalid URL escape in path segment "${segment}"`), {
      cause: error,
    })
  }
}

const noQuery = new URLSearchParams()

/** A flag in the query: present and not 0 or false, in any case: clients in Python send False. */
export function queryFlag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name)
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}

function nonResourceInfo(of: {
  method: string
  path: string
  query: URLSearchParams
}): RequestInfo {
  return {
    isResourceRequest: false,
    path: of.path,
    query: of.query,
    verb: of.method.toLowerCase(),
    group: '',
    version: '',
    namespace: '',
    plural: '',
    name: '',
    subresource: '',
    rest: [],
  }
}

/** Parses the target. Throws a 400 StatusError on broken percent-encoding; an unknown path is a non-resource request. */
export function parseRequestInfo(method: string, url: string): RequestInfo {
  const question = url.indexOf('?')
  const path = question < 0 ? url : url.slice(0, question)
  const query = question < 0 ? noQuery : new URLSearchParams(url.slice(question + 1))
  const segments = path.split('/')
  let at: number
  let group = ''
  if (segments[1] === 'api' && segments.length > 3) {
    at = 2
  } else if (segments[1] === 'apis' && segments.length > 4) {
    group = decodeSegment(segments[2] ?? '')
    at = 3
  } else {
    return nonResourceInfo({ method, path, query })
  }
  const version = decodeSegment(segments[at] ?? '')
  const parts = segments.slice(at + 1)
  if (parts.at(-1) === '') parts.pop()
  // An empty segment inside the path would let authorizer and router see different paths.
  if (parts.length === 0 || parts.includes('')) return nonResourceInfo({ method, path, query })
  const names = parts.map(decodeSegment)
  // Deprecated, but served and used: `/api/v1/watch/namespaces/x/pods` is a watch, whatever the query says.
  const isWatchPath = names[0] === 'watch' && names.length > 1
  if (isWatchPath) names.shift()

  let namespace = ''
  let target = names
  if (names[0] === 'namespaces' && names.length > 1) {
    namespace = names[1] ?? ''
    if (names.length > 2 && !namespaceSubresources.has(names[2] ?? '')) target = names.slice(2)
  }
  const [plural = '', name = '', subresource = '', ...rest] = target
  let verb = isWatchPath ? 'watch' : (getOwn(methodVerbs, method) ?? method.toLowerCase())
  if (verb === 'get' && subresource === '') {
    if (method === 'GET' && queryFlag(query, 'watch')) verb = 'watch'
    else if (name === '') verb = 'list'
  } else if (verb === 'delete' && name === '') {
    verb = 'deletecollection'
  }
  return {
    isResourceRequest: true,
    path,
    query,
    verb,
    group,
    version,
    namespace,
    plural,
    name,
    subresource,
    rest,
  }
}
