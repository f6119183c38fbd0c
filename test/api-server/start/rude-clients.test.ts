/** Clients that do not speak HTTP, or badly, or hardly at all: each is answered or cut off, and nobody else notices. */
import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { afterAll, describe, expect, it } from 'vitest'
import { startApiServer } from '../../support/api-server.ts'
import type { TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'

const server: TestApiServer = await startApiServer()
const opened = new Set<net.Socket>()
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  expect(server.faults).toEqual([])
})

function keep<S extends net.Socket>(socket: S): S {
  opened.add(socket)
  socket.on('close', () => opened.delete(socket))
  socket.on('error', () => {
    // What became of the connection is told by 'close'.
  })
  return socket
}

async function connectPlain(): Promise<net.Socket> {
  const socket = keep(net.connect(server.port, '127.0.0.1'))
  await once(socket, 'connect')
  return socket
}

async function connectTls(protocol: 'http/1.1' | 'h2'): Promise<tls.TLSSocket> {
  const socket = keep(
    tls.connect({
      host: '127.0.0.1',
      port: server.port,
      ca: server.pki.authority.certificatePem,
      ALPNProtocols: [protocol],
    }),
  )
  await once(socket, 'secureConnect')
  return socket
}

/** Unlike `once` of events it takes a reset for an end. */
function closed(socket: net.Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve())
  })
}

/** All that comes until the server ends the connection. */
async function answerOn(socket: net.Socket, sent: string | Buffer): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  const end = closed(socket)
  socket.write(sent)
  await end
  return Buffer.concat(chunks).toString('latin1')
}

async function expectService(): Promise<void> {
  expect((await server.request('GET', '/api/v1/namespaces/default')).status).toBe(200)
}

describe('a client without TLS', () => {
  it.each([
    'GET /api HTTP/1.1\r\nHost: a\r\n\r\n',
    'POST /api/v1/pods HTTP/1.1\r\n',
    'HEAD / HTTP/1.0\r\n\r\n',
  ])('that says %j is told what the port speaks', async (request) => {
    const answer = await answerOn(await connectPlain(), request)
    expect(answer).toBe(
      'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n',
    )
  })

  it.each(['nonsense\r\n\r\n', '\0\0\0\0\0\0\0\0\0\0', 'SSH-2.0-OpenSSH_9.9\r\n'])(
    'that says %j is cut off',
    async (said) => {
      expect(await answerOn(await connectPlain(), said)).not.toContain('HTTP/')
      await expectService()
    },
  )
})

describe('behind TLS', () => {
  it.each([
    ['no HTTP', 'nonsense\r\n\r\n'],
    ['bytes that are no text', Buffer.from([0, 1, 2, 254, 255, 13, 10, 13, 10])],
    ['another protocol version', 'GET / HTTP/9.9\r\nHost: a\r\n\r\n'],
    ['no host', 'GET /version HTTP/1.1\r\n\r\n'],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n'],
    ['a header with a blank in its name', 'GET / HTTP/1.1\r\nHost: a\r\nx y: z\r\n\r\n'],
    ['a length that is no number', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    ],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
  ])('%s is answered with 400 and the end', async (_, said) => {
    const answer = await answerOn(await connectTls('http/1.1'), said)
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(answer).toMatch(/^connection: close\r$/im)
  })

  it.each([
    ['a header', `GET /version HTTP/1.1\r\nHost: a\r\nx-long: ${'a'.repeat(100_000)}\r\n\r\n`],
    [
      'many headers',
      `GET /version HTTP/1.1\r\nHost: a\r\n${'x-more: aaaaaaaaaaaaaaaa\r\n'.repeat(5000)}\r\n`,
    ],
    ['a path', `GET /version?${'a'.repeat(100_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ])('%s without end is answered with 431 and the end', async (_, said) => {
    const answer = await answerOn(await connectTls('http/1.1'), said)
    expect(answer).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/)
  })

  it('HTTP/1.1 where HTTP/2 was agreed, or frames that make no sense, end the connection', async () => {
    const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])
    const frames = {
      'a frame larger than allowed': Buffer.from([255, 255, 255, 0, 0, 0, 0, 0, 1]),
      'data before headers': Buffer.from([0, 0, 1, 0, 0, 0, 0, 0, 1, 65]),
      'headers that do not decode': Buffer.from([0, 0, 4, 1, 5, 0, 0, 0, 1, 255, 255, 255, 255]),
      'a ping of the wrong size': Buffer.from([0, 0, 1, 6, 0, 0, 0, 0, 0, 1]),
    }
    await answerOn(await connectTls('h2'), 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    for (const [name, frame] of Object.entries(frames)) {
      const answer = await answerOn(
        await connectTls('h2'),
        Buffer.concat([preface, settings, frame]),
      )
      expect(answer.charCodeAt(3), name).toBe(4) // its SETTINGS came first
    }
    await expectService()
  })
})

describe('clients that say next to nothing', () => {
  /** What a client may stop in the middle of. */
  const beginnings: [string, () => Promise<net.Socket>][] = [
    ['a connection', connectPlain],
    ['a TLS handshake', connectPlain],
    ['silence behind TLS', () => connectTls('http/1.1')],
    ['silence where HTTP/2 was agreed', () => connectTls('h2')],
    ['the preface of HTTP/2', () => connectTls('h2')],
    ['a request line', () => connectTls('http/1.1')],
    ['a head', () => connectTls('http/1.1')],
    ['a body', () => connectTls('http/1.1')],
  ]
  const words: Record<string, string | Buffer> = {
    'a TLS handshake': Buffer.from([0x16, 3, 1, 2, 0, 1, 0]),
    'the preface of HTTP/2': 'PRI * HTT',
    'a request line': 'GE',
    'a head': 'GET /version HTTP/1.1\r\nHos',
    'a body':
      'POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"kind',
  }

  async function stopInTheMiddle(times: number): Promise<void> {
    for (let i = 0; i < times; i += 1) {
      for (const [name, connect] of beginnings) {
        const socket = await connect()
        const said = words[name]
        if (said !== undefined) socket.write(said)
        socket.resume()
      }
    }
  }

  it('keep nobody else from being served, and leave nothing behind when they go', async () => {
    await expectService()
    const socketsNow = (): number =>
      process.getActiveResourcesInfo().filter((name) => /TCPSocket|TLS/.test(name)).length
    const before = socketsNow()
    await stopInTheMiddle(25)
    expect(opened.size).toBeGreaterThanOrEqual(25 * (beginnings.length - 1))
    await expectService()
    // Half of them close what they say and stay to listen, the others go at once.
    for (const [index, socket] of [...opened].entries()) {
      if (index % 2 === 0) socket.end()
      else socket.destroy()
    }
    await expectService()
    for (const socket of opened) socket.destroy()
    await eventually(() => expect(socketsNow()).toBeLessThanOrEqual(before))
    await expectService()
  })

  it('do not hold up a server that stops, but for those that it is to answer', async () => {
    await stopInTheMiddle(2)
    const ends = [...opened].map(closed)
    const isAnswered = [...opened].filter((_, index) => index % beginnings.length === 7)
    const restarted = server.restart()
    for (const socket of isAnswered) socket.destroy()
    await restarted
    await Promise.all(ends)
    await expectService()
  })
})
