/** Listener: accepts the clients' connections and passes them on, until it is closed. */
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { Log } from '../component-base/log.ts'
import { formatEndpoint } from './endpoint.ts'
import type { Endpoint } from './endpoint.ts'
import { forwardConnection } from './forward-connection.ts'
import type { ForwardOptions } from './forward-connection.ts'

export interface ListenerOptions extends ForwardOptions {
  readonly at: Endpoint
  /** Open connections; further ones are closed. */
  readonly mostConnections: number
  readonly log: Log
}

export interface Listener {
  readonly port: number
  /** Accepts no more, waits until the connections have ended, and cuts those that are left after `drainMs`. */
  close(drainMs: number): Promise<void>
}

/** Resolves when it accepts connections; rejects with a clear message when it cannot. */
export function openListener(options: ListenerOptions): Promise<Listener> {
  const { at, clock, log, metrics, mostConnections } = options
  const clients = new Set<Socket>()
  // Paused: the bytes stay in the system's buffer until a backend has taken the connection.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true })
  server.maxConnections = mostConnections
  server.on('drop', () => metrics.rejected.with('full').inc())
  server.on('connection', (client) => {
    clients.add(client)
    client.once('close', () => clients.delete(client))
    forwardConnection(client, options).catch((error: unknown) => {
      log.error('connection failed', { error })
      client.destroy()
    })
  })
  const close = async (drainMs: number): Promise<void> => {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve())
    })
    const cancel = clock.after(drainMs, () => {
      for (const client of clients) client.destroy()
    })
    await closed
    cancel()
  }
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      const why = error.code === 'EADDRINUSE' ? 'the port is already in use' : error.message
      reject(new Error(`cannot listen on ${formatEndpoint(at)}: ${why}`, { cause: error }))
    }
    server.once('error', failed)
    server.listen({ host: at.host, port: at.port, backlog: 1024 }, () => {
      server.off('error', failed)
      // The system has no file descriptors left, for example: the next connection may succeed.
      server.on('error', (error) => log.warn('a connection was not accepted', { error }))
      resolve({ port: (server.address() as AddressInfo).port, close })
    })
  })
}
