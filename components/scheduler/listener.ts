/** The scheduler's own listener: health for anybody, metrics for those whom the API server allows. */
import type { DelegatedAuth } from '../client/delegated-auth.ts'
import type { Answer, HttpRequest } from '../component-base/http.ts'

const open = new Set(['/healthz', '/livez', '/readyz'])

function plain(status: number, text: string, type = 'text/plain; charset=utf-8'): Answer {
  const body = Buffer.from(text)
  return {
    status,
    headers: { 'content-type': type, 'content-length': String(body.length) },
    body,
  }
}

/** Answers `/healthz`, `/livez`, `/readyz` and `/metrics`. */
export function createListener(options: {
  auth: DelegatedAuth
  /** What keeps the process from being ready; undefined when nothing does. */
  notReady: () => string | undefined
  metrics: () => string
}): (request: HttpRequest) => Promise<Answer> {
  const { auth, notReady, metrics } = options
  return async (request) => {
    const path = new URL(request.url, 'https://localhost').pathname
    if (open.has(path)) {
      const why = path === '/readyz' ? notReady() : undefined
      return why === undefined ? plain(200, 'ok') : plain(500, `not ready: ${why}\n`)
    }
    const user = await auth.authenticate(request)
    if (user === undefined) return plain(401, 'Unauthorized')
    const verb = request.method.toLowerCase()
    const access = await auth.authorize(user, { nonResourceAttributes: { path, verb } })
    if (!access.isAllowed) {
      return plain(403, `Forbidden (user=${user.username}, verb=${verb}, path=${path})`)
    }
    if (path !== '/metrics') return plain(404, '404 page not found\n')
    return plain(200, metrics(), 'text/plain; version=0.0.4; charset=utf-8')
  }
}
