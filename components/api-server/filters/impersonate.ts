/** impersonate: acts as the user in the Impersonate-* headers, if the caller may. */
import { apiGroup, type Dialect } from '../../api/dialect.ts'
import { prefixedHeaders } from '../../component-base/http.ts'
import { label1123, subdomain } from '../../machinery/validation/names.ts'
import { badRequest } from '../../machinery/objects/status-error.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import { forbiddenError } from '../request/forbidden.ts'
import type { DeniedRequests } from './denied-requests.ts'
import type {
  Answer,
  AuthorizationAttributes,
  Filter,
  HttpRequest,
  Next,
  RequestContext,
  UserInfo,
} from '../request/request.ts'

const prefix = 'impersonate-'
const extraPrefix = 'impersonate-extra-'
const accountName = /^system:serviceaccount:([^:]+):([^:]+)$/

interface Asked {
  readonly user: string
  /** Set when the user's name is that of a service account. */
  readonly account: { readonly namespace: string; readonly name: string } | undefined
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** A name that merely begins like an account's is an ordinary user. */
function accountOf(user: string): Asked['account'] {
  const [, namespace = '', name = ''] = accountName.exec(user) ?? []
  const isAccount = label1123(namespace).length === 0 && subdomain(name).length === 0
  return isAccount ? { namespace, name } : undefined
}

function hasPrefixed(headers: HttpRequest['headers']): boolean {
  for (const name in headers) if (name.startsWith(prefix)) return true
  return false
}

function askedOf(request: HttpRequest): Asked | undefined {
  if (!hasPrefixed(request.headers)) return undefined
  const [user = ''] = request.values('impersonate-user')
  const [uid = ''] = request.values('impersonate-uid')
  const groups = request.values('impersonate-group')
  const extra = Object.fromEntries(prefixedHeaders(request, extraPrefix))
  if (user !== '') return { user, account: accountOf(user), uid, groups, extra }
  if (uid !== '' || groups.length > 0 || Object.keys(extra).length > 0) {
    throw badRequest('requested impersonation of groups, uid or extra without impersonating a user')
  }
  return undefined
}

function identityOf(asked: Asked): UserInfo {
  const { user, account, uid, groups, extra } = asked
  const named = [...groups]
  if (groups.length === 0 && account !== undefined) {
    named.push('system:serviceaccounts', `system:serviceaccounts:${account.namespace}`)
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

/** The rights that the caller needs to impersonate, one check each; empty without impersonation. */
export function impersonationChecks(
  { http, dialect }: RequestContext,
  caller: UserInfo,
): readonly AuthorizationAttributes[] {
  const asked = askedOf(http)
  return asked === undefined ? [] : checksFor(asked, caller, dialect)
}

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
  const { account } = asked
  if (account === undefined) checks.push(check('users', asked.user))
  else checks.push(check('serviceaccounts', account.name, { namespace: account.namespace }))
  for (const group of asked.groups) checks.push(check('groups', group))
  if (asked.uid !== '') checks.push(check('uids', asked.uid, { group: authentication }))
  for (const [key, values] of Object.entries(asked.extra)) {
    for (const value of values) {
      checks.push(check('userextras', value, { group: authentication, subresource: key }))
    }
  }
  return checks
}

export function impersonate(
  authorizer: Authorizer,
  denied: DeniedRequests,
  dialect: Dialect,
): Filter {
  const act = async (asked: Asked, context: RequestContext, next: Next): Promise<Answer> => {
    for (const attributes of checksFor(asked, context.user, dialect)) {
      const result = await authorizer.authorize(attributes)
      if (result.decision !== 'allow') {
        denied.forbidden(context, attributes, result.reason)
        throw forbiddenError(attributes, result.reason)
      }
    }
    context.impersonator = context.user.name
    context.user = identityOf(asked)
    return await next(context)
  }
  return (context, next) => {
    const asked = askedOf(context.http)
    return asked === undefined ? next(context) : act(asked, context, next)
  }
}
