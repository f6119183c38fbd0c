/** DeniedRequests: the last requests that were answered 401 or 403, or that admission rejected, for `skiff why`. It holds no secrets. */
import type { Dialect } from '../../api/dialect.ts'
import type { AdmissionRefusal, DeniedRequest, Trial } from '../../api/explanations.ts'
import type { Log } from '../../component-base/log.ts'
import type { AuthorizationAttributes, RequestContext } from '../request/request.ts'
import { isComponentUser } from './component-users.ts'

const mostKept = 100
/** Longer texts of clients are cut. */
const longestText = 500

/** `attributes` is what was denied. With impersonation that may be the right to impersonate. */
interface KeptRequest extends DeniedRequest {
  readonly attributes?: AuthorizationAttributes
}

export interface DeniedRequests {
  /** A request that was answered 401. */
  unauthenticated(
    context: RequestContext,
    why: { readonly reason: string; readonly tried: readonly Trial[] },
  ): void
  /** A request, or the impersonation in it, that was answered 403. */
  forbidden(context: RequestContext, attributes: AuthorizationAttributes, reason: string): void
  /** A request that an admission plugin rejected. */
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

/** Logs that a component of the cluster was denied a request. A user who impersonates a component does not count. */
function logComponent(
  { http }: RequestContext,
  denial: { readonly attributes: AuthorizationAttributes; readonly why: string },
  { log, dialect }: { readonly log: Log; readonly dialect: Dialect },
): void {
  const { attributes, why } = denial
  const { user, verb, group, resource, subresource, namespace, name } = attributes
  if (!isComponentUser(user.name, dialect) || http.headers['impersonate-user'] !== undefined) return
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

/**
 * Requests that differ only in their time count as one, so that a client that repeats a request does not push out others. The
 * first denial of a request of a component of the cluster is logged.
 */
export function createDeniedRequests(options: {
  readonly log: Log
  readonly dialect: Dialect
}): DeniedRequests {
  const kept = new Map<string, KeptRequest>()

  /** True for the first request of its kind. */
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
    kept.set(key, { ...what, time: new Date(receivedAtMs).toISOString(), requestId: id, count })
    const [oldest] = kept.keys()
    if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest)
    return count === 1
  }
  return {
    unauthenticated: (context, { reason, tried }) =>
      void note(context, { status: 401, reason, authenticators: tried }),
    forbidden: (context, attributes, reason) => {
      const kept = { ...attributes, path: shortened(attributes.path) }
      if (note(context, { status: 403, reason, attributes: kept }))
        logComponent(context, { attributes: kept, why: shortened(reason) }, options)
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
