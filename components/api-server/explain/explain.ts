/**
 * explain: answers `/explain/access`, `/explain/token`, `/explain/denied`, `/explain/changes`, `/explain/requests` and
 * `/explain/watches`. They are non-resource paths, so
 * authorization guards them and audit records do not hold their bodies.
 */
import type { Dialect } from '../../api/dialect.ts'
import type { ChangesExplanation, DeniedExplanations } from '../../api/explanations.ts'
import type { OpenWatches } from '../../api/request-record.ts'
import type { SubjectAccessReviewSpec, TokenReviewSpec } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import { BodyTooLargeError, RequestAbortedError } from '../../component-base/http.ts'
import { apiVersionOf, type Resource } from '../../machinery/objects/resource.ts'
import { badRequest, methodNotAllowed } from '../../machinery/objects/status-error.ts'
import type { Authentication } from '../authn/authentication.ts'
import type { Authorization } from '../authz/authorization.ts'
import { decodeAs, parseJson } from '../codec/decode-body.ts'
import { attributesOfReview } from '../handlers/review-attributes.ts'
import { refuseFaults, subjectFaults, subjectOf } from '../handlers/reviews.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { journalPath } from '../request/long-running.ts'
import type { Answer, RequestContext } from '../request/request.ts'
import { answerJson } from '../codec/respond.ts'
import type { DeniedRequests } from '../filters/denied-requests.ts'
import { explainAccess } from './explain-access.ts'
import { explainChanges, type ChangeHistory } from './explain-changes.ts'
import { explainRequests, type JournalParts } from './explain-requests.ts'
import { explainToken } from './explain-token.ts'

/** More than any review needs, including its token. */
const maxBodyBytes = 64 * 1024
const usualDenied = 10
const mostDenied = 100
const usualChanges = 200
const mostChanges = 1000

export interface ExplainParts extends JournalParts {
  readonly authentication: Pick<Authentication, 'explainToken'>
  readonly authorization: Pick<Authorization, 'modules'>
  readonly denied: DeniedRequests
  readonly reader: ObjectReader
  readonly changes: ChangeHistory
  readonly dialect: Dialect
}

/** The spec of the posted review. Throws 400 for an invalid body. */
async function specOf<T>(context: RequestContext, resource: Resource): Promise<T> {
  const body = await context.http.body(maxBodyBytes)
  const { kind } = resource
  const wanted = { kind, apiVersion: apiVersionOf(resource), schema: `${resource.package}.${kind}` }
  const value = parseJson(body, `the body is no ${kind}: `)
  return (decodeAs(context, wanted, { value, fieldValidation: 'Strict' })['spec'] ?? {}) as T
}

async function explainedAccess(context: RequestContext, parts: ExplainParts): Promise<unknown> {
  const { dialect, reader, authorization } = parts
  const { subjectAccessReviews } = resourcesOf(dialect)
  const spec = await specOf<SubjectAccessReviewSpec>(context, subjectAccessReviews)
  refuseFaults(subjectFaults(spec), dialect)
  const { attributes } = attributesOfReview(spec, subjectOf(spec))
  return await explainAccess(attributes, { modules: authorization.modules, reader, dialect })
}

/** The error does not say what is invalid: audit records would repeat it. */
async function tokenSpec(context: RequestContext, dialect: Dialect): Promise<TokenReviewSpec> {
  try {
    return await specOf<TokenReviewSpec>(context, resourcesOf(dialect).tokenReviews)
  } catch (error) {
    if (error instanceof BodyTooLargeError || error instanceof RequestAbortedError) throw error
    throw badRequest('the body is no TokenReview')
  }
}

async function explainedToken(
  context: RequestContext,
  { dialect, authentication }: ExplainParts,
): Promise<unknown> {
  const { token, audiences = [] } = await tokenSpec(context, dialect)
  if (!token) throw badRequest('token is required')
  return await explainToken({ token, audiences }, authentication.explainToken)
}

/** The number that the query names. Throws 400 unless it is a whole number from 1 to `most`. */
function limitOf(
  context: RequestContext,
  { usual, most }: { usual: number; most: number },
): number {
  const limit = Number(context.info.query.get('limit') ?? usual)
  if (Number.isInteger(limit) && limit >= 1 && limit <= most) return limit
  throw badRequest(`limit must be a whole number from 1 to ${most}`)
}

function recentChanges(context: RequestContext, { changes }: ExplainParts): ChangesExplanation {
  const limit = limitOf(context, { usual: usualChanges, most: mostChanges })
  const namespace = context.info.query.get('namespace') ?? ''
  if (namespace === '') throw badRequest('namespace is required')
  return explainChanges(changes, { namespace, limit })
}

/** Explains each denied request with the rights of now. They may have been granted since. */
async function deniedRequests(
  context: RequestContext,
  parts: ExplainParts,
): Promise<DeniedExplanations> {
  const { denied, authorization, reader, dialect } = parts
  const limit = limitOf(context, { usual: usualDenied, most: mostDenied })
  const items: Promise<DeniedExplanations['items'][number]>[] = denied
    .list(limit)
    .map(async ({ attributes, ...request }) =>
      attributes === undefined
        ? request
        : {
            ...request,
            explanation: await explainAccess(attributes, {
              modules: authorization.modules,
              reader,
              dialect,
            }),
          },
    )
  return { items: await Promise.all(items) }
}

const endpoints: Readonly<
  Record<
    string,
    {
      readonly method: string
      readonly answer: (context: RequestContext, parts: ExplainParts) => unknown
    }
  >
> = {
  '/explain/access': { method: 'POST', answer: explainedAccess },
  '/explain/token': { method: 'POST', answer: explainedToken },
  '/explain/denied': { method: 'GET', answer: deniedRequests },
  '/explain/changes': { method: 'GET', answer: recentChanges },
  '/explain/watches': { method: 'GET', answer: openWatches },
}

function openWatches(_: RequestContext, parts: ExplainParts): OpenWatches {
  return { items: parts.openWatches.list() }
}

/** Answers a path below /explain/; undefined for an unknown one. */
export async function answerExplain(
  context: RequestContext,
  parts: ExplainParts,
): Promise<Answer | undefined> {
  const { path } = context.info
  if (path === journalPath) {
    if (context.http.method !== 'GET') throw methodNotAllowed()
    return explainRequests(context, parts)
  }
  const endpoint = Object.hasOwn(endpoints, path) ? endpoints[path] : undefined
  if (endpoint === undefined) return undefined
  if (context.http.method !== endpoint.method) throw methodNotAllowed()
  return answerJson(200, await endpoint.answer(context, parts))
}
