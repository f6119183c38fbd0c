/**
 * Guard: which HTTP requests reach the console at all. A website that the viewer visits can send requests to loopback addresses, also
 * under a host name of its own that leads there; both get 403 before anything else is looked at.
 */
import type { IncomingMessage } from 'node:http'
import type { Sessions } from './sessions.ts'

/** Why a request is refused, as its answer says; undefined when it may pass. */
export type Refusal = string | undefined

export interface Guard {
  /** Names the console and comes from no other site; needs no session yet. */
  addressed(request: IncomingMessage): Refusal
  /** The same, and belongs to a session. */
  admitted(request: IncomingMessage): Refusal
  /** The same, and was sent by the page itself: for writes, WebSockets and everything with data of the cluster. */
  fromPage(request: IncomingMessage): Refusal
}

/** Header that the page sets on every request. No form, link or image of another site can set it. */
export const pageHeader = 'x-skiff-console'

const noSession =
  'this browser has no session: open the link that `skiff console` prints; each link works once\n'

/** `hosts` are the values that the header `Host` may have: `127.0.0.1:8080`. */
export function createGuard(hosts: () => readonly string[], sessions: Sessions): Guard {
  const addressed: Guard['addressed'] = ({ headers }) => {
    if (!hosts().includes(headers.host ?? ''))
      return 'the console does not listen at this host name\n'
    const { origin } = headers
    const isOwn = origin === undefined || hosts().some((host) => origin === `http://${host}`)
    if (!isOwn) return 'requests from other origins are refused\n'
    return undefined
  }
  const admitted: Guard['admitted'] = (request) =>
    addressed(request) ?? (sessions.isOpen(request.headers.cookie) ? undefined : noSession)
  return {
    addressed,
    admitted,
    fromPage: (request) => {
      const { headers } = request
      const site = headers['sec-fetch-site']
      if (site !== undefined && site !== 'same-origin')
        return 'requests from other sites are refused\n'
      // A browser sends the origin of every WebSocket and every write; the page adds its header to the rest.
      const isPage = headers.origin !== undefined || headers[pageHeader] !== undefined
      return admitted(request) ?? (isPage ? undefined : "only the console's page may send this\n")
    },
  }
}
