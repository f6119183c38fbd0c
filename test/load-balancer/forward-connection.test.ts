/** The way of bytes through the balancer, between real sockets. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../components/component-base/clock.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { BackendSet } from '../../components/load-balancer/backend-set.ts'
import { createBalancerMetrics } from '../../components/load-balancer/balancer-metrics.ts'
import { openListener } from '../../components/load-balancer/listener.ts'
import type { Listener, ListenerOptions } from '../../components/load-balancer/listener.ts'
import { eventually } from '../support/eventually.ts'
import { ownPort } from '../support/own-port.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

interface TestBackend {
  readonly port: number
  readonly sockets: readonly Socket[]
}

/** A server of plain TCP that gives each connection to `serve`. */
async function backend(serve: (socket: Socket) => void): Promise<TestBackend> {
  const sockets: Socket[] = []
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, sockets }
}

interface Balancer extends Listener {
  readonly set: BackendSet
  readonly metrics: () => string
}

async function balance(
  ports: readonly number[],
  more: Partial<ListenerOptions> = {},
): Promise<Balancer> {
  const set = new BackendSet({ healthy: 1, unhealthy: 1 })
  const { added } = set.replace(ports.map((port) => ({ host: '127.0.0.1', port })))
  for (const one of added) one.checked(true)
  const metrics = createBalancerMetrics(set)
  const listener = await openListener({
    at: { host: '127.0.0.1', port: 0 },
    backends: set,
    metrics,
    clock: systemClock,
    log: silentLog,
    connectTimeoutMs: 2000,
    mostConnections: 100,
    ...more,
  })
  ends.push(() => listener.close(0))
  return { ...listener, set, metrics: () => metrics.metrics.text() }
}

/** A client whose half of the connection stays open until it says so. */
function client(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  ends.push(() => socket.destroy())
  return socket
}

async function textOf(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text
}

const named = (name: string) => (socket: Socket) => void socket.end(name)
const big = Buffer.alloc(8 * 1024 * 1024, 'x')

test('all bytes arrive, also those after the other side has ended its half', async () => {
  const { port: to } = await backend((socket) => {
    let size = 0
    socket.on('data', (chunk: Buffer) => (size += chunk.length))
    // The answer comes only when the whole request is there, and is not small either.
    socket.on('end', () => {
      socket.write(big)
      socket.end(String(size))
    })
  })
  const { port } = await balance([to])
  const socket = client(port)
  socket.end(big)
  const answer = await textOf(socket)
  expect(answer.length).toBe(big.length + 7)
  expect(answer.slice(big.length)).toBe(String(big.length))
})

test('a server that ends first still reads what its client sends', async () => {
  const received = Promise.withResolvers<string>()
  const { port: to } = await backend((socket) => {
    socket.end('hello')
    textOf(socket).then(received.resolve, received.reject)
  })
  const { port } = await balance([to])
  const socket = client(port)
  expect(await textOf(socket)).toBe('hello')
  socket.end('late words')
  expect(await received.promise).toBe('late words')
})

test('a client that reads nothing slows its server down, and gets everything once it reads', async () => {
  const parts = 32
  let sent = 0
  const { port: to } = await backend((socket) => {
    const send = (): void => {
      if (sent === parts) {
        socket.end()
        return
      }
      sent += 1
      socket.write(big, send)
    }
    send()
  })
  const { port } = await balance([to])
  const socket = client(port).pause()
  await once(socket, 'connect')
  await eventually(() => expect(sent).toBeGreaterThan(0))
  // The buffers of the sockets are full long before the server could send it all.
  let before = -1
  await eventually(async () => {
    before = sent
    await systemClock.sleep(200)
    expect(sent).toBe(before)
  })
  expect(sent).toBeLessThan(parts)
  let size = 0
  socket.on('data', (chunk: Buffer) => (size += chunk.length)).resume()
  await once(socket, 'end')
  expect(size).toBe(parts * big.length)
})

test('a backend that refuses a connection is skipped, and no byte is lost', async () => {
  const { port: to } = await backend((socket) => socket.pipe(socket))
  const { port, metrics } = await balance([ownPort(), to, ownPort()])
  for (let left = 4; left > 0; left -= 1) {
    const socket = client(port)
    socket.end('request')
    expect(await textOf(socket)).toBe('request')
  }
  expect(metrics()).toMatch(/load_balancer_connection_failures_total\{backend="[^"]+"\} [1-9]/)
})

test('a client is reset when no backend takes its connection', async () => {
  const { port, metrics } = await balance([ownPort(), ownPort()])
  const socket = client(port)
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException]
  expect(error.code).toBe('ECONNRESET')
  expect(metrics()).toContain('rejected_connections_total{reason="no_backend"} 1')
})

test('a backend that stops being ready keeps its connections and gets no new ones', async () => {
  const echo = await backend((socket) => socket.pipe(socket))
  const other = await backend(named('other'))
  const { port, set } = await balance([echo.port, other.port])
  const [first, second] = set.all
  second?.checked(false)
  const socket = client(port)
  await once(socket, 'connect')
  await eventually(() => expect(first?.connections).toBe(1))
  first?.checked(false)
  second?.checked(true)
  for (let left = 3; left > 0; left -= 1) expect(await textOf(client(port).end())).toBe('other')
  socket.write('still here')
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  expect(String(chunk)).toBe('still here')
  socket.destroy()
  await eventually(() => expect(first?.connections).toBe(0))
})

test('when one side breaks off, the other is closed and gets what was sent before', async () => {
  const { port: to, sockets } = await backend((socket) => void socket.write('before'))
  const { port, set } = await balance([to])
  const socket = client(port)
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  expect(String(chunk)).toBe('before')
  sockets[0]?.resetAndDestroy()
  await once(socket, 'end')
  socket.destroy()
  const again = client(port)
  await once(again, 'data')
  again.resetAndDestroy()
  await eventually(() => expect(sockets[1]?.destroyed || sockets[1]?.readableEnded).toBe(true))
  await eventually(() => expect(set.all[0]?.connections).toBe(0))
})

test('connections above the limit are closed at once; those that are there go on', async () => {
  const { port: to } = await backend((socket) => socket.pipe(socket))
  const { port, metrics } = await balance([to], { mostConnections: 1 })
  const first = client(port)
  first.write('one')
  await once(first, 'data')
  const second = client(port)
  expect(await textOf(second).catch(() => '')).toBe('')
  await eventually(() => expect(metrics()).toContain('connections_total{reason="full"} 1'))
  first.write('two')
  const [chunk] = (await once(first, 'data')) as [Buffer]
  expect(String(chunk)).toBe('two')
})

test('closing waits for connections that end in time, and cuts the others', async () => {
  const { port: to } = await backend((socket) => socket.pipe(socket))
  const patient = await balance([to])
  const socket = client(patient.port)
  socket.write('a')
  await once(socket, 'data')
  const closing = patient.close(60_000)
  await expect(once(client(patient.port), 'connect')).rejects.toThrow('ECONNREFUSED')
  socket.end('b')
  expect(await textOf(socket)).toBe('b')
  await closing
  const hasty = await balance([to])
  const cut = client(hasty.port)
  cut.write('a')
  await once(cut, 'data')
  const ended = once(cut, 'end')
  await hasty.close(10)
  await ended
})
