/** request-matcher: which requests a fault is for, compiled once. */
import type { RequestMatch } from '../../component-base/request-fault.ts'
import { attributesOf } from '../request/attributes.ts'
import type { AuthorizationAttributes, RequestContext } from '../request/request.ts'
import { isProbe } from '../request/probes.ts'
import { compilePatterns, type TextMatch } from './pattern.ts'

/** What matches look at. */
export type SeenRequest = Pick<
  AuthorizationAttributes,
  'isResourceRequest' | 'verb' | 'group' | 'resource' | 'subresource' | 'namespace' | 'name'
> & {
  readonly user: string
  readonly groups: readonly string[]
  readonly userAgent: string
  /** A health check, a scrape of metrics or a request about the request journal. */
  readonly isProbe: boolean
}

export type Matches = (request: SeenRequest) => boolean

/** Throws 400 for selectors that cannot be read, as authorization does. */
export function seenRequest(context: RequestContext): SeenRequest {
  const { user, ...attributes } = attributesOf(context)
  return {
    ...attributes,
    user: user.name,
    groups: user.groups,
    userAgent: [context.http.headers['user-agent'] ?? ''].flat().join(),
    isProbe: isProbe(attributes),
  }
}

/** What the verb `write` stands for. */
export const writeVerbs: readonly string[] = [
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
]

/** `plural[.group][/subresource]`; without a group that of any group, and `*` alone any resource with its subresources. */
function compileResource(text: string): Matches {
  if (text === '*') return ({ isResourceRequest }) => isResourceRequest
  const [whole = '', subresource = ''] = text.split('/', 2)
  const dot = whole.indexOf('.')
  const plural = compilePatterns([dot === -1 ? whole : whole.slice(0, dot)])
  const group = dot === -1 ? undefined : compilePatterns([whole.slice(dot + 1)])
  const below = compilePatterns([subresource])
  return (request) =>
    request.isResourceRequest &&
    plural(request.resource) &&
    (group === undefined || group(request.group)) &&
    (request.subresource === '') === (subresource === '') &&
    below(request.subresource)
}

/** A pattern matches what is there: `*` in `names` matches requests that name an object. */
function present(patterns: readonly string[]): TextMatch {
  const matches = compilePatterns(patterns)
  return (text) => text !== '' && matches(text)
}

/** Requests that match every field. Probes match only a match that has their user's whole name. */
export function compileMatch(match: RequestMatch): Matches {
  const { users, groups, verbs, resources, namespaces, names, userAgents } = match
  const all: Matches[] = []
  if (verbs !== undefined) {
    const verb = compilePatterns(verbs.flatMap((one) => (one === 'write' ? writeVerbs : [one])))
    all.push((request) => verb(request.verb))
  }
  if (resources !== undefined) {
    const compiled = resources.map(compileResource)
    all.push((request) => compiled.some((matches) => matches(request)))
  }
  if (namespaces !== undefined) {
    const namespace = present(namespaces)
    all.push((request) => namespace(request.namespace))
  }
  if (names !== undefined) {
    const name = present(names)
    all.push((request) => name(request.name))
  }
  if (users !== undefined) {
    const user = present(users)
    all.push((request) => user(request.user))
  }
  if (groups !== undefined) {
    const group = present(groups)
    all.push((request) => request.groups.some(group))
  }
  if (userAgents !== undefined) {
    const agent = present(userAgents)
    all.push((request) => agent(request.userAgent))
  }
  const named = new Set(users)
  return (request) =>
    (!request.isProbe || named.has(request.user)) && all.every((matches) => matches(request))
}
