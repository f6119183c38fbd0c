/** Forward connection: one client's connection, from its accept to the end of both sides. */
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { Clock } from '../component-base/clock.ts'
import type { Backend } from './backend.ts'
import type { BackendSet } from './backend-set.ts'
import type { BalancerMetrics } from './balancer-metrics.ts'

export interface ForwardOptions {
  readonly backends: BackendSet
  readonly connectTimeoutMs: number
  readonly clock: Clock
  readonly metrics: BalancerMetrics
}

/** A peer that is gone without a word is noticed by unanswered probes, which begin after this time. */
const keepAliveMs = 30_000
/** How long the rest may take to reach one side after the other side broke off. */
const lingerMs = 10_000

/** Resolves with a connected socket; undefined when that fails, takes too long, or the client leaves. */
function connectTo(
  { endpoint }: Backend,
  client: Socket,
  { clock, connectTimeoutMs }: ForwardOptions,
): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const server = connect({ ...endpoint, allowHalfOpen: true, noDelay: true })
    const settle = (socket: Socket | undefined): void => {
      cancel()
      client.off('close', giveUp)
      server.off('error', giveUp)
      if (socket === undefined) server.on('error', () => {}).destroy()
      resolve(socket)
    }
    const giveUp = (): void => settle(undefined)
    const cancel = clock.after(connectTimeoutMs, giveUp)
    server.once('connect', () => settle(server)).on('error', giveUp)
    client.once('close', giveUp)
  })
}

/**
 * Passes bytes on in one direction, and the end of them. When the sender breaks off, what it has sent still goes out; then the
 * other side is closed. Slow readers slow their senders down: no more is kept than the sockets' buffers.
 */
function pass(from: Socket, to: Socket, clock: Clock): void {
  from.pipe(to)
  from.once('close', () => {
    // What the other side still sends has nowhere to go.
    to.destroySoon()
    if (from.readableEnded) return
    const cancel = clock.after(lingerMs, () => to.destroy())
    to.once('close', cancel)
  })
}

/** Connects both; resolves when both are closed. */
async function joined(client: Socket, server: Socket, options: ForwardOptions): Promise<void> {
  const { metrics, clock } = options
  const ends = [client, server].map(
    (socket) =>
      new Promise<void>((resolve) => {
        // 'close' follows.
        socket.on('error', () => {}).once('close', () => resolve())
        socket.setKeepAlive(true, keepAliveMs)
      }),
  )
  pass(client, server, clock)
  pass(server, client, clock)
  if (client.destroyed) server.destroy()
  await Promise.all(ends)
  metrics.bytes.with('in').inc(server.bytesWritten)
  metrics.bytes.with('out').inc(client.bytesWritten)
}

/**
 * Connects a paused client to a backend; when that cannot be done, to the next, until none is left, and then resets the client.
 * No byte of the client is read before a backend has taken the connection. Resolves when the connection has ended.
 */
export async function forwardConnection(client: Socket, options: ForwardOptions): Promise<void> {
  const { backends, metrics } = options
  client.on('error', () => {}) // 'close' follows
  const tried = new Set<Backend>()
  while (!client.destroyed) {
    const backend = backends.choose(tried)
    if (backend === undefined) {
      metrics.rejected.with('no_backend').inc()
      client.resetAndDestroy()
      return
    }
    tried.add(backend)
    backend.connections += 1
    try {
      const server = await connectTo(backend, client, options)
      if (server !== undefined) {
        metrics.connections.with(backend.name).inc()
        await joined(client, server, options)
        return
      }
      if (!client.destroyed) metrics.failures.with(backend.name).inc()
    } finally {
      backend.connections -= 1
    }
  }
}
