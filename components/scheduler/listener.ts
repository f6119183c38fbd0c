/** The scheduler's own listener: health for anybody, metrics for those whom the API server allows. */
import type { DelegatedAuth } from '../client/delegated-auth.ts'
import type { Answer, HttpRequest } from '../component-base/http.ts'
import type { Log } from '../component-base/log.ts'

const open = new Set(['/healthz', '/livez', '/readyz'])

function plain(status: number, text: string, type = 'text/plain; charset=utf-8'): Answer {
  const body = Buffer.from(text)
  return {
    status,
    headers: { 'content-type': type, 'content-length': String(body.length) },
    body,
  }
}

/** What to answer a caller who is unknown or may not; undefined for one who may. */
async function refusalOf(
  auth: DelegatedAuth,
  request: HttpRequest,
  path: string,
): Promise<Answer | undefined> {
  const user = await auth.authenticate(request)
  if (user === undefined) return plain(401, 'Unauthorized')
  const verb = request.method.toLowerCase()
  const access = await auth.authorize(user, { nonResourceAttributes: { path, verb } })
  if (access.isAllowed) return undefined
  return plain(403, `Forbidden (user=${user.username}, verb=${verb}, path=${path})`)
}

/** Answers `/healthz`, `/livez`, `/readyz` and `/metrics`. */
export function createListener(options: {
  auth: DelegatedAuth
  /** What keeps the process from being ready; undefined when nothing does. */
  notReady: () => string | undefined
  metrics: () => string
  log: Log
}): (request: HttpRequest) => Promise<Answer> {
  const { notReady, metrics, log } = options
  return async (request) => {
    const path = new URL(request.url, 'https://localhost').pathname
    if (open.has(path)) {
      const why = path === '/readyz' ? notReady() : undefined
      return why === undefined ? plain(200, 'ok') : plain(500, `not ready: ${why}\n`)
    }
    try {
      const refusal = await refusalOf(options.auth, request, path)
      if (refusal !== undefined) return refusal
    } catch (error) {
      log.warn('the API server could not be asked about a caller', { error: String(error) })
      return plain(500, 'the API server could not be asked about the caller')
    }
    if (path !== '/metrics') return plain(404, '404 page not found\n')
    return plain(200, metrics(), 'text/plain; version=0.0.4; charset=utf-8')
  }
}
