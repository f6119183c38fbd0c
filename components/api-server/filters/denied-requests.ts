/** DeniedRequests: the last requests that were answered 401 or 403, or that admission refused, for people who ask why. Nothing in it is secret. */
import type { Dialect } from '../../api/dialect.ts'
import type { AdmissionRefusal, DeniedRequest, Trial } from '../../api/explanations.ts'
import { timestamp } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { AuthorizationAttributes, RequestContext } from '../request/request.ts'
import { isComponentUser } from './component-users.ts'

const mostKept = 100
/** What clients choose may be long; more of it says nothing new. */
const longestText = 500

/** As it is kept, with what was not allowed: with impersonation that may be acting as somebody. */
interface KeptRequest extends DeniedRequest {
  readonly attributes?: AuthorizationAttributes
}

export interface DeniedRequests {
  /** Somebody unknown. */
  unauthenticated(
    context: RequestContext,
    why: { readonly reason: string; readonly tried: readonly Trial[] },
  ): void
  /** Somebody who may not. */
  forbidden(context: RequestContext, attributes: AuthorizationAttributes, reason: string): void
  /** What a plugin of admission did not let pass. */
  refused(
    context: RequestContext,
    by: AdmissionRefusal,
    answer: { readonly code: number; readonly message: string },
  ): void
  /** Newest first. */
  list(limit: number): KeptRequest[]
}

const shortened = (text: string): string =>
  text.length <= longestText ? text : `${text.slice(0, longestText)}...`

/**
 * Requests that are alike in all but time count as one, so that a client that repeats itself does not push out others. What a
 * component of the cluster is refused is logged, once.
 */
export function createDeniedRequests(options: {
  readonly log: Log
  readonly dialect: Dialect
}): DeniedRequests {
  const { log, dialect } = options
  const kept = new Map<string, KeptRequest>()

  /** Whether it is the first of its kind. */
  function note(
    { http, info, id, receivedAtMs }: RequestContext,
    more: Pick<KeptRequest, 'status' | 'reason' | 'authenticators' | 'attributes' | 'admission'>,
  ): boolean {
    const what = {
      ...more,
      reason: shortened(more.reason),
      method: http.method,
      path: shortened(info.path),
      remoteAddress: http.remoteAddress,
    }
    const key = JSON.stringify(what)
    const count = (kept.get(key)?.count ?? 0) + 1
    kept.delete(key)
    kept.set(key, { ...what, time: timestamp(receivedAtMs), requestId: id, count })
    const [oldest] = kept.keys()
    if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest)
    return count === 1
  }
  /** A user who impersonates a component does not count. */
  function logComponent(
    { http }: RequestContext,
    attributes: AuthorizationAttributes,
    why: string,
  ): void {
    const { user, verb, group, resource, subresource, namespace, name } = attributes
    if (!isComponentUser(user.name, dialect) || http.headers['impersonate-user'] !== undefined)
      return
    log.warn('a component of the cluster was refused a request', {
      user: user.name,
      userAgent: http.headers['user-agent'],
      verb,
      group,
      resource: subresource === '' ? resource : `${resource}/${subresource}`,
      namespace,
      name,
      why,
    })
  }

  return {
    unauthenticated: (context, { reason, tried }) =>
      void note(context, { status: 401, reason, authenticators: tried }),
    forbidden: (context, attributes, reason) => {
      const kept = { ...attributes, path: shortened(attributes.path) }
      if (note(context, { status: 403, reason, attributes: kept }))
        logComponent(context, kept, shortened(reason))
    },
    refused: (context, by, { code, message }) =>
      void note(context, {
        status: code,
        reason: message,
        admission: { ...by, user: shortened(context.user.name) },
      }),
    list: (limit) => [...kept.values()].toReversed().slice(0, limit),
  }
}
