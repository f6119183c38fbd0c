/** Status listener: `/healthz`, `/livez`, `/readyz` and `/metrics` of the balancer, over plain HTTP. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { metricsContentType } from '../component-base/metrics.ts'
import { formatEndpoint } from './endpoint.ts'
import type { Endpoint } from './endpoint.ts'

interface StatusListener {
  readonly port: number
  /** Resolves when it is closed. */
  close(): Promise<void>
}

interface StatusOptions {
  /** Why it is not ready; undefined when it is. */
  readonly notReady: () => string | undefined
  readonly metrics: () => string
}

const plain = 'text/plain; charset=utf-8'

function answerOf(
  path: string,
  options: StatusOptions,
): readonly [status: number, type: string, text: string] {
  switch (path) {
    case '/healthz':
    case '/livez':
      return [200, plain, 'ok']
    case '/readyz': {
      const why = options.notReady()
      return why === undefined ? [200, plain, 'ok'] : [500, plain, `not ready: ${why}\n`]
    }
    case '/metrics':
      return [200, metricsContentType, options.metrics()]
    default:
      return [404, plain, '404 page not found\n']
  }
}

/** Rejects when it cannot listen there. */
export function openStatusListener(at: Endpoint, options: StatusOptions): Promise<StatusListener> {
  const server = createServer((request, response) => {
    const path = request.url?.replace(/\?.*/, '') ?? ''
    const [status, type, text] = answerOf(path, options)
    response.writeHead(status, { 'content-type': type }).end(text)
  })
  server.maxConnections = 100
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new Error(`cannot listen on ${formatEndpoint(at)}: ${error.message}`, { cause: error }),
      ),
    )
    server.listen(at.port, at.host, () => {
      const { port } = server.address() as AddressInfo
      resolve({
        port,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            server.closeAllConnections()
          }),
      })
    })
  })
}
