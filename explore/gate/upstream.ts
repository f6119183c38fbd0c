/** Upstream: the API server behind the gate, as the controller's user. */
import { Agent, request as httpsRequest } from 'node:https'
import type { IncomingMessage } from 'node:http'

export interface UpstreamOptions {
  /** `https://127.0.0.1:PORT`. */
  readonly server: string
  readonly ca: string | Buffer
  readonly cert: string | Buffer
  readonly key: string | Buffer
}

export interface UpstreamRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: Buffer
  readonly signal: AbortSignal
}

export interface Upstream {
  /** Resolves with the head of the answer. */
  send(request: UpstreamRequest): Promise<IncomingMessage>
  /** Its connections end. */
  close(): void
}

export function createUpstream({ server, ca, cert, key }: UpstreamOptions): Upstream {
  const { hostname, port } = new URL(server)
  const agent = new Agent({ keepAlive: true, ca, cert, key })
  return {
    send: ({ method, path, headers, body, signal }) =>
      new Promise((resolve, reject) => {
        const length = body.length > 0 ? { 'content-length': String(body.length) } : {}
        const sent = httpsRequest({
          agent,
          hostname,
          port,
          method,
          path,
          headers: { ...headers, ...length },
          signal,
        })
        sent.once('response', resolve)
        sent.on('error', reject)
        sent.end(body)
      }),
    close: () => agent.destroy(),
  }
}
