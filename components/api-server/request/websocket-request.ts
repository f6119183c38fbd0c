import type { HttpRequest } from './request.ts'

/** Whether a request asks to go on as a WebSocket. HTTP/2 has no such header. */
export function isWebSocketRequest({ headers }: Pick<HttpRequest, 'headers'>): boolean {
  const { upgrade, connection } = headers
  return (
    String(upgrade ?? '').toLowerCase() === 'websocket' && /\bupgrade\b/i.test(String(connection))
  )
}
