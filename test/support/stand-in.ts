/**
 * The other side of outgoing HTTP/1.1 in unit tests, answered in this process by msw: no port, no certificate, and no request
 * reaches the network. Not beside a server or client of HTTP/2 in the same test: msw intercepts every connection of the process.
 */
import { syncBuiltinESMExports } from 'node:module'
import { http, HttpResponse } from 'msw'
import { setupServer } from 'msw/node'
import { onTestFinished } from 'vitest'

export interface StandInRequest {
  readonly method: string
  /** Path and parameters. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A response, by default 200 without a body; `unreachable` fails the connection. */
export type StandInAnswer =
  | {
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
    }
  | 'unreachable'

/**
 * Answers requests to the origin until the test has finished; requests to any other host fail. Returns every request so far,
 * in order.
 */
export function standIn(
  origin: string,
  answer: (request: StandInRequest) => StandInAnswer | Promise<StandInAnswer>,
): readonly StandInRequest[] {
  const requests: StandInRequest[] = []
  const server = setupServer(
    http.all(`${origin}/*`, async ({ request }) => {
      const { pathname, search } = new URL(request.url)
      const asked: StandInRequest = {
        method: request.method,
        path: `${pathname}${search}`,
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      }
      requests.push(asked)
      const answered = await answer(asked)
      if (answered === 'unreachable') return HttpResponse.error()
      const { status = 200, headers = {}, body = null } = answered
      return new HttpResponse(body, { status, headers })
    }),
  )
  server.listen({ onUnhandledFrame: 'error' })
  // msw replaces properties of node:https; modules that import them by name see it after this.
  syncBuiltinESMExports()
  onTestFinished(() => {
    server.close()
    syncBuiltinESMExports()
  })
  return requests
}
