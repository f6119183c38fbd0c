/** The handler of a component's own listener: health for every caller, metrics for callers that the API server allows. */
import type { Answer, HttpRequest } from '../component-base/http.ts'
import { metricsContentType } from '../component-base/metrics.ts'
import type { Log } from '../component-base/log.ts'
import type { DelegatedAuth } from './delegated-auth.ts'

const healthPaths = new Set(['/healthz', '/livez', '/readyz'])

function plain(status: number, text: string, type = 'text/plain; charset=utf-8'): Answer {
  return { status, headers: { 'content-type': type }, body: Buffer.from(text) }
}

/** The answer to an unknown or forbidden caller; undefined for an allowed one. */
async function refusalOf(
  auth: DelegatedAuth,
  request: HttpRequest,
  path: string,
): Promise<Answer | undefined> {
  const user = await auth.authenticate(request)
  if (user === undefined) return plain(401, 'Unauthorized')
  const verb = request.method.toLowerCase()
  const { isAllowed } = await auth.authorize(user, { nonResourceAttributes: { path, verb } })
  if (isAllowed) return undefined
  return plain(403, `Forbidden (user=${user.username}, verb=${verb}, path=${path})`)
}

/** What a component shows besides: a JSON value for a path, or undefined for one that it does not have. */
export type MoreEndpoints = (path: string) => Promise<unknown>

/** Answers `/healthz`, `/livez`, `/readyz` and `/metrics`; callers of other paths are authorized like those of metrics. */
export function createHealthListener(options: {
  readonly auth: DelegatedAuth
  /** Why the process is not ready; undefined when it is. */
  readonly notReady: () => string | undefined
  readonly metrics: () => string
  readonly more?: MoreEndpoints
  readonly log: Log
}): (request: HttpRequest) => Promise<Answer> {
  const { auth, notReady, metrics, more, log } = options
  return async (request) => {
    const target = URL.parse(request.url, 'https://localhost')
    if (target === null) return plain(400, '400 Bad Request')
    const { pathname: path } = target
    if (healthPaths.has(path)) {
      const why = path === '/readyz' ? notReady() : undefined
      return why === undefined ? plain(200, 'ok') : plain(500, `not ready: ${why}\n`)
    }
    try {
      const refusal = await refusalOf(auth, request, path)
      if (refusal !== undefined) return refusal
    } catch (error) {
      log.warn('the API server could not be asked about a caller', { error: String(error) })
      return plain(500, 'the API server could not be asked about the caller')
    }
    if (path === '/metrics') return plain(200, metrics(), metricsContentType)
    const shown = request.method === 'GET' ? await more?.(path) : undefined
    return shown === undefined
      ? plain(404, '404 page not found\n')
      : plain(200, `${JSON.stringify(shown)}\n`, 'application/json')
  }
}
