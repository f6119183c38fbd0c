/** Simulated listener: a small HTTP server for the ports that a pod's annotation declares. It runs inside the agent, without a socket. */
import { duplexPair } from 'node:stream'
import type { Duplex } from 'node:stream'
import { createServer } from '../../component-base/node-http.ts'

/** A connection to a container's port; every HTTP request on it is answered with who answered. */
export function connectToListener(listener: {
  who: string
  port: number
  onRequest: () => void
}): Duplex {
  const { who, port, onRequest } = listener
  const [client, server] = duplexPair()
  const http = createServer({}, (request, response) => {
    onRequest()
    const body = `${who} on port ${port}: ${request.method} ${request.url}\n`
    response.setHeader('content-type', 'text/plain; charset=utf-8')
    response.end(body)
  })
  http.emit('connection', server)
  return client
}
