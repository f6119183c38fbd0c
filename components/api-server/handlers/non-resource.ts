/** non-resource: discovery, OpenAPI, version, health, metrics, keys of the token issuer, and the index at `/`. */
import { methodNotAllowed } from '../../machinery/objects/status-error.ts'
import { discoveryForm, type Discovery, type DiscoveryDocument } from '../discovery/discovery.ts'
import type { Answer, RequestContext } from '../request/request.ts'
import { answerJson, type FormedAnswer } from '../codec/respond.ts'
import type { VersionInfo } from '../discovery/version.ts'
import { answerHealth, healthPaths, type HealthCheck } from '../health/health.ts'
import type { HealthMetrics } from '../health/health-metrics.ts'
import type { Parts } from './parts.ts'

/** A document that is built at the first request: OpenAPI is large, and most runs never need it. */
export interface LazyDocument {
  readonly contentType: string
  readonly body: Buffer
  /** Changes with the document. A URL may contain it. */
  readonly hash: string
}

export interface NonResourceParts {
  readonly parts: Parts
  readonly discovery: () => Discovery
  readonly checks: readonly HealthCheck[]
  readonly healthMetrics: HealthMetrics
  readonly version: VersionInfo
  /** The text of /metrics. */
  readonly metrics: () => string
  /** The OpenAPI document of a path for an Accept header; undefined for an unknown path. */
  readonly openApi: (path: string, accept: string) => Promise<LazyDocument | undefined>
  /** `/.well-known/openid-configuration` and `/openid/v1/jwks`. */
  readonly issuerDocument: (path: string) => unknown
}

/** The paths that the index lists beside the groups. */
const fixedPaths = [
  '/.well-known/openid-configuration',
  '/api',
  '/apis',
  '/metrics',
  '/metrics/slis',
  '/openapi/v2',
  '/openapi/v3',
  '/openid/v1/jwks',
  '/version',
]

/** Whether If-None-Match names this entity tag. */
function hasAlready({ http }: RequestContext, etag: string): boolean {
  const known = [http.headers['if-none-match'] ?? []].flat().join(',')
  return known.split(',').some((one) => ['*', etag].includes(one.trim().replace(/^W\//, '')))
}

function answerDiscovery(context: RequestContext, document: DiscoveryDocument): Answer {
  const { contentType, body, etag } = document
  const headers = {
    'content-type': contentType,
    vary: 'Accept',
    'cache-control': contentType === 'application/json' ? 'no-cache, private' : 'public',
    etag,
  }
  if (hasAlready(context, etag)) return { status: 304, headers, body: Buffer.alloc(0) }
  return { status: 200, headers, body }
}

const yearMs = 365 * 24 * 60 * 60 * 1000

/** The document in its own encoding. The answer to a URL with its hash never changes (upstream: kube-openapi handler3). */
function answerOpenApi(
  context: RequestContext,
  document: LazyDocument,
  nowMs: number,
): FormedAnswer {
  const { contentType, body, hash } = document
  const { path, query } = context.info
  const asked = query.get('hash') ?? ''
  const isNamed = asked !== '' && /^\/openapi\/v3\/./.test(path)
  const headers = {
    'content-type': contentType,
    etag: `"${hash}"`,
    vary: 'Accept',
    ...(isNamed
      ? {
          'cache-control': 'public, immutable',
          expires: new Date(nowMs + yearMs).toUTCString(),
        }
      : { 'cache-control': 'no-cache, private' }),
  }
  if (isNamed && asked !== hash) {
    const location = `${path}?hash=${hash}`
    return {
      status: 301,
      headers: { 'content-type': 'text/html; charset=utf-8', location, vary: 'Accept' },
      body: Buffer.from(`<a href="${location}">Moved Permanently</a>.\n\n`),
      isFormed: true,
    }
  }
  if (hasAlready(context, headers.etag)) {
    return { status: 304, headers, body: Buffer.alloc(0), isFormed: true }
  }
  return { status: 200, headers, body, isFormed: true }
}

/** The same for every client, cacheable for an hour (upstream: routes/openidmetadata.go). */
function answerIssuerDocument(path: string, document: unknown): FormedAnswer {
  const contentType = path.endsWith('/jwks') ? 'application/jwk-set+json' : 'application/json'
  return {
    status: 200,
    headers: { 'content-type': contentType, 'cache-control': 'public, max-age=3600' },
    body: Buffer.from(JSON.stringify(document)),
    isFormed: true,
  }
}

function allPaths(from: NonResourceParts): string[] {
  const groups = from.discovery().groupPaths
  return [...fixedPaths, '/api/v1', ...groups, ...healthPaths(from.checks)].sort()
}

/** The paths that the default roles allow with and without the slash, so that authorization covers both. */
const withOptionalSlash =
  /^\/(apis?(\/.*)?|version|\.well-known\/openid-configuration|openid\/v1\/jwks)\/$/

/** Answers GET and HEAD of a non-resource path; undefined is a 404. */
export async function answerNonResource(
  context: RequestContext,
  from: NonResourceParts,
): Promise<Answer | undefined> {
  const answer = await documentAt(context, from)
  const { method } = context.http
  if (answer !== undefined && method !== 'GET' && method !== 'HEAD') throw methodNotAllowed()
  return answer
}

async function documentAt(
  context: RequestContext,
  from: NonResourceParts,
): Promise<Answer | undefined> {
  const { path } = context.info
  const accept = String(context.http.headers['accept'] ?? '')
  const trimmed = withOptionalSlash.test(path) ? path.slice(0, -1) : path
  const health = await answerHealth(context, from.checks, from.healthMetrics.observe)
  if (health !== undefined) return health
  if (trimmed === '/api' || trimmed === '/apis' || /^\/apis?\//.test(trimmed)) {
    const form = discoveryForm(accept, from.parts.dialect)
    const document = from.discovery().document(trimmed, form)
    return document === undefined ? undefined : answerDiscovery(context, document)
  }
  if (trimmed.startsWith('/openapi/')) {
    const document = await from.openApi(trimmed, accept)
    return document === undefined
      ? undefined
      : answerOpenApi(context, document, from.parts.clock.now())
  }
  switch (trimmed) {
    case '/':
      return answerJson(200, { paths: allPaths(from) })
    case '/version':
      return answerJson(200, from.version)
    case '/metrics':
    case '/metrics/slis': {
      const text = trimmed === '/metrics' ? from.metrics() : from.healthMetrics.text()
      return {
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        body: Buffer.from(text),
      }
    }
    case '/.well-known/openid-configuration':
    case '/openid/v1/jwks': {
      const document = from.issuerDocument(trimmed)
      return document === undefined ? undefined : answerIssuerDocument(trimmed, document)
    }
    default: {
      if (!/^\/(healthz|livez|readyz)\//.test(trimmed)) return undefined
      return answerJson(404, { paths: allPaths(from) })
    }
  }
}
