/** non-resource: discovery, OpenAPI, version, health, metrics, keys of the token issuer, and the index at `/`. */
import { methodNotAllowed } from '../../machinery/status-error.ts'
import type { Discovery } from '../discovery.ts'
import { discoveryForm } from '../discovery.ts'
import type { Answer, RequestContext } from '../request.ts'
import { answerJson } from '../respond.ts'
import type { VersionInfo } from '../version.ts'
import { answerHealth, healthPaths, type HealthCheck } from './health.ts'
import type { Parts } from './parts.ts'

/** A document that is made when first asked for: OpenAPI is large and most runs never want it. */
export interface LazyDocument {
  readonly contentType: string
  readonly body: Buffer
  readonly etag: string
}

export interface NonResourceParts {
  readonly parts: Parts
  readonly discovery: () => Discovery
  readonly checks: readonly HealthCheck[]
  readonly version: VersionInfo
  /** The text of /metrics. */
  readonly metrics: () => string
  /** An OpenAPI document by path and Accept header, or undefined. */
  readonly openApi: (path: string, accept: string) => Promise<LazyDocument | undefined>
  /** `/.well-known/openid-configuration` and `/openid/v1/jwks`. */
  readonly issuerDocument: (path: string) => unknown
}

/** Paths clients cannot guess; the index lists them beside the groups. */
const fixedPaths = [
  '/.well-known/openid-configuration',
  '/api',
  '/apis',
  '/metrics',
  '/openapi/v2',
  '/openapi/v3',
  '/openid/v1/jwks',
  '/version',
]

function answerDocument(context: RequestContext, document: LazyDocument): Answer {
  const headers = {
    'content-type': document.contentType,
    etag: document.etag,
    vary: 'Accept',
    'cache-control': 'public',
  }
  if (context.http.headers['if-none-match'] === document.etag) {
    return { status: 304, headers, body: Buffer.alloc(0) }
  }
  return { status: 200, headers, body: document.body }
}

function allPaths(from: NonResourceParts): string[] {
  const groups = from.parts.resources.groups
    .filter(({ name }) => name !== '')
    .flatMap(({ name, versions }) => [
      `/apis/${name}`,
      ...versions.map(({ version }) => `/apis/${name}/${version}`),
    ])
    .filter((path) => from.discovery().document(path) !== undefined)
  return [...fixedPaths, '/api/v1', ...groups, ...healthPaths(from.checks)].sort()
}

/** Answers a non-resource request; undefined is a 404. Only GET (and HEAD) is served. */
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
  const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  const health = answerHealth(context.info, from.checks)
  if (health !== undefined) return health
  if (trimmed === '/api' || trimmed === '/apis' || /^\/apis?\//.test(trimmed)) {
    const form = discoveryForm(accept, from.parts.dialect)
    const document = from.discovery().document(trimmed, form)
    return document === undefined ? undefined : answerDocument(context, document)
  }
  if (trimmed.startsWith('/openapi/')) {
    const document = await from.openApi(trimmed, accept)
    return document === undefined ? undefined : answerDocument(context, document)
  }
  switch (trimmed) {
    case '/':
      return answerJson(200, { paths: allPaths(from) })
    case '/version':
      return answerJson(200, from.version)
    case '/metrics':
      return {
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        body: Buffer.from(from.metrics()),
      }
    case '/.well-known/openid-configuration':
    case '/openid/v1/jwks': {
      const document = from.issuerDocument(trimmed)
      return document === undefined ? undefined : answerJson(200, document)
    }
    default: {
      if (!/^\/(healthz|livez|readyz)\//.test(trimmed)) return undefined
      return answerJson(404, { paths: allPaths(from) })
    }
  }
}
