/** api-server: builds store, watch cache, registry, chain and listener from options, and runs them until told to stop. */
import { createWriteStream, readFileSync } from 'node:fs'
import { dialectNamed, dialects } from '../api/dialect.ts'
import { parseFeatureGates } from '../api/feature-gates.ts'
import { resourcesOf } from '../api/resources.ts'
import { servedResources } from '../api/runtime-config.ts'
import { StartError, type ComponentContext } from '../component-base/component.ts'
import { createHttpsServer } from '../component-base/https-server.ts'
import type { HttpRequest } from '../component-base/http.ts'
import { openStore } from '../store/open-store.ts'
import { Compactor } from '../store/compactor.ts'
import { Expiry } from '../store/expiry.ts'
import { createAdmission } from './admission/chain.ts'
import { createAuthentication, readFlagFile } from './authentication.ts'
import { createAuthorization } from './authz/authorization-modes.ts'
import { ensureBootstrapObjects } from './bootstrap-objects.ts'
import { compose } from './chain.ts'
import { createDiscovery } from './discovery.ts'
import { audit, type AuditSink } from './filters/audit.ts'
import { authenticate } from './filters/authenticate.ts'
import { authorize } from './filters/authorize.ts'
import { decorate } from './filters/decorate.ts'
import { impersonate } from './filters/impersonate.ts'
import { maxInFlight } from './filters/max-in-flight.ts'
import { recover } from './filters/recover.ts'
import { timeout } from './filters/timeout.ts'
import { answerNonResource, type NonResourceParts } from './handlers/non-resource.ts'
import type { Parts } from './handlers/parts.ts'
import { createRoutes } from './routes.ts'
import type { apiServerFlags, ApiServerOptions } from './options.ts'
import { createOpenApi } from './openapi/openapi.ts'
import { Registry } from './registry/registry.ts'
import type { Answer, Filter, Next, RequestContext } from './request.ts'
import { parseRequestInfo } from './request-info.ts'
import { answerError, asStatusError } from './respond.ts'
import { createRouter } from './router.ts'
import { versionInfo } from './version.ts'
import { WatchCache } from './watch-cache/watch-cache.ts'

/** How often the cache forgets history past its time, in collections where nothing happens. */
const forgetEveryMs = 30_000

interface Running {
  readonly handle: (request: HttpRequest) => Promise<Answer>
  /** Resolves when the bootstrap objects are there: /readyz turns ok. */
  readonly started: Promise<void>
}

/** The chain in visit order. */
function filtersOf(options: {
  server: ApiServerOptions
  parts: Parts
  auditSink: AuditSink | undefined
  authentication: ReturnType<typeof createAuthentication>
  authorizer: ReturnType<typeof createAuthorization>
}): Filter[] {
  const { server, parts, auditSink, authentication, authorizer } = options
  const { dialect, clock, log } = parts
  return [
    ...(auditSink === undefined ? [] : [audit(auditSink, { dialect, clock })]),
    decorate,
    recover(log),
    timeout(clock, server['request-timeout']),
    maxInFlight({
      reading: server['max-requests-inflight'],
      mutating: server['max-mutating-requests-inflight'],
    }),
    authenticate(authentication.authenticateRequest, log),
    impersonate(authorizer, dialect),
    authorize(authorizer),
  ]
}

function openAudit(path: string | undefined): AuditSink | undefined {
  if (path === undefined || path === '') return undefined
  if (path === '-') return { write: (line) => void process.stdout.write(line) }
  const file = createWriteStream(path, { flags: 'a', mode: 0o600 })
  return { write: (line) => void file.write(line) }
}

/** What is handed to the listener: a request in, an answer out. Never rejects for what a client can do. */
function entryOf(next: Next, parts: Parts): (http: HttpRequest) => Promise<Answer> {
  return async (http) => {
    const context: RequestContext = {
      http,
      id: parts.clock.uuid(),
      receivedAtMs: parts.clock.now(),
      info: noInfo,
      user: { name: '', groups: [] },
      resource: undefined,
      warnings: [],
      annotations: {},
    }
    try {
      context.info = parseRequestInfo(http.method, http.url)
    } catch (error) {
      return answerError(asStatusError(error))
    }
    return await next(context)
  }
}

const noInfo = parseRequestInfo('GET', '/')
