/** impersonate: acts as the user named in Impersonate-* headers, once the caller is allowed to (spec: "Impersonation"). */
import { apiGroup, type Dialect } from '../../api/dialect.ts'
import { badRequest } from '../../machinery/status-error.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import { forbiddenError } from '../authz/forbidden.ts'
import type { AuthorizationAttributes, Filter, HttpRequest, UserInfo } from '../request.ts'

const extraPrefix = 'impersonate-extra-'
const serviceAccountPrefix = 'system:serviceaccount:'

interface Asked {
  readonly user: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** All values of a repeated header. HTTP/1.1 and HTTP/2 give repeats of unknown headers joined by ', ' or as a list. */
function valuesOf(request: HttpRequest, name: string): string[] {
  const value = request.headers[name]
  if (value === undefined) return []
  return Array.isArray(value) ? value : value.split(', ')
}

function askedOf(request: HttpRequest): Asked | undefined {
  const user = valuesOf(request, 'impersonate-user')
  const uid = valuesOf(request, 'impersonate-uid')
  const groups = valuesOf(request, 'impersonate-group')
  const extra: Record<string, string[]> = {}
  for (const name of Object.keys(request.headers)) {
    if (!name.startsWith(extraPrefix)) continue
    let key = name.slice(extraPrefix.length)
    try {
      key = decodeURIComponent(key)
    } catch {
      // Upstream takes a key that is not percent-encoded as it stands.
    }
    extra[key.toLowerCase()] = valuesOf(request, name)
  }
  const [name = ''] = user
  if (name !== '') return { user: name, uid: uid[0] ?? '', groups, extra }
  if (uid.length > 0 || groups.length > 0 || Object.keys(extra).length > 0) {
    throw badRequest('requested impersonation of groups, uid or extra without impersonating a user')
  }
  return undefined
}

function identityOf(asked: Asked): UserInfo {
  const { user, uid, groups, extra } = asked
  const named = [...groups]
  if (groups.length === 0 && user.startsWith(serviceAccountPrefix)) {
    const [namespace = ''] = user.slice(serviceAccountPrefix.length).split(':')
    named.push('system:serviceaccounts', `system:serviceaccounts:${namespace}`)
  }
  if (user === 'system:anonymous') {
    if (!named.includes('system:unauthenticated')) named.push('system:unauthenticated')
  } else if (!named.includes('system:authenticated') && !named.includes('system:unauthenticated')) {
    named.push('system:authenticated')
  }
  return {
    name: user,
    groups: named,
    ...(uid === '' ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

/** What the caller must be allowed to impersonate, one check each. */
function checksFor(asked: Asked, caller: UserInfo, dialect: Dialect): AuthorizationAttributes[] {
  const check = (
    resource: string,
    name: string,
    more: { group?: string; namespace?: string; subresource?: string } = {},
  ): AuthorizationAttributes => ({
    user: caller,
    verb: 'impersonate',
    isResourceRequest: true,
    group: more.group ?? '',
    version: 'v1',
    resource,
    subresource: more.subresource ?? '',
    namespace: more.namespace ?? '',
    name,
    path: '',
  })
  const authentication = apiGroup(dialect, 'authentication')
  const checks: AuthorizationAttributes[] = []
  const account = asked.user.startsWith(serviceAccountPrefix)
    ? asked.user.slice(serviceAccountPrefix.length).split(':')
    : []
  if (account.length === 2) {
    checks.push(check('serviceaccounts', account[1] ?? '', { namespace: account[0] ?? '' }))
  } else {
    checks.push(check('users', asked.user))
  }
  for (const group of asked.groups) checks.push(check('groups', group))
  if (asked.uid !== '') checks.push(check('uids', asked.uid, { group: authentication }))
  for (const [key, values] of Object.entries(asked.extra)) {
    for (const value of values) {
      checks.push(check('userextras', value, { group: authentication, subresource: key }))
    }
  }
  return checks
}

export function impersonate(authorizer: Authorizer, dialect: Dialect): Filter {
  return async (context, next) => {
    const asked = askedOf(context.http)
    if (asked === undefined) return await next(context)
    for (const attributes of checksFor(asked, context.user, dialect)) {
      const result = await authorizer.authorize(attributes)
      if (result.decision !== 'allow') throw forbiddenError(attributes, result.reason)
    }
    context.annotations['impersonated-by'] = context.user.name
    context.user = identityOf(asked)
    return await next(context)
  }
}
