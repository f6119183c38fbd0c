import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  admin,
  startApiServer,
  user,
  type Identity,
  type TestApiServer,
} from '../../support/api-server.ts'
import {
  registerExtension,
  startExtensionServer,
  whenReason,
  type ExtensionServer,
} from '../../support/extension-server.ts'

const group = 'flavors.example.com'
const path = `/apis/${group}/v1/namespaces/default/flavors/mint/taste`

interface Opened {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly socket?: Duplex
  readonly head: Buffer
}

describe('connections of aggregated APIs that go on as another protocol', () => {
  let server: TestApiServer
  let extension: ExtensionServer
  beforeAll(async () => {
    server = await startApiServer({ flags: ['--enable-aggregator-routing=true'] })
    extension = await startExtensionServer({ group, namespace: 'default' })
    const apiService = await registerExtension(server, extension, { namespace: 'default' })
    await whenReason(server, apiService, 'Passed')
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await extension[Symbol.asyncDispose]()
    expect(server.faults).toEqual([])
  })

  const open = (
    as: Identity,
    protocol = 'SPDY/3.1',
    more: Readonly<Record<string, string>> = {},
  ): Promise<Opened> =>
    new Promise((resolve, reject) => {
      const shown = server.credential(as)
      const request = https.request({
        host: '127.0.0.1',
        port: server.port,
        path: `${path}?command=lick`,
        method: 'POST',
        ca: server.pki.authority.certificatePem,
        ...(shown && { cert: shown.certificatePem, key: shown.privateKeyPem }),
        agent: false,
        headers: {
          connection: 'Upgrade',
          upgrade: protocol,
          'x-stream-protocol-version': 'v4',
          ...more,
        },
      })
      request.on('upgrade', ({ statusCode = 0, headers }, socket, head) =>
        resolve({ status: statusCode, headers, text: '', socket, head }),
      )
      request.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const { statusCode = 0, headers } = response
          resolve({ status: statusCode, headers, text, head: Buffer.alloc(0) })
        })
      })
      request.on('error', reject)
      request.end()
    })

  it('are joined, with the identity of the caller, until either side ends', async () => {
    const { promise: closed, resolve: nowClosed } = Promise.withResolvers<void>()
    extension.upgrade = ({ headers }, socket) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${headers.upgrade}\r\nX-Stream-Protocol-Version: v4\r\n\r\nhello `,
      )
      socket.on('data', (chunk: Buffer) => socket.write(`[${chunk.toString()}]`))
      socket.on('close', () => nowClosed())
    }
    const opened = await open(admin)
    expect(opened.status).toBe(101)
    expect(opened.headers).toMatchObject({
      connection: 'Upgrade',
      upgrade: 'SPDY/3.1',
      'x-stream-protocol-version': 'v4',
    })
    expect(opened.headers['audit-id']).toBeDefined()
    const { url, method, headers } = extension.asked.at(-1) ?? {}
    expect([method, url]).toEqual(['POST', `${path}?command=lick`])
    expect(headers).toMatchObject({ 'x-remote-user': 'admin', 'x-stream-protocol-version': 'v4' })
    const { socket, head } = opened
    if (socket === undefined) throw new Error('no connection')
    const chunks = [head]
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    const whenHeard = async (text: string): Promise<void> => {
      while (Buffer.concat(chunks).toString() !== text) await once(socket, 'data')
    }
    await whenHeard('hello ')
    socket.write('ping')
    await whenHeard('hello [ping]')
    socket.end()
    await closed
  })

  it('are refused in the words of the extension API server', async () => {
    extension.upgrade = (_, socket) => {
      socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 8\r\nX-Why: taste\r\n\r\nno taste')
    }
    const { status, text, headers } = await open(admin)
    expect([status, text, headers['x-why']]).toEqual([400, 'no taste', 'taste'])
  })

  it('do not tell the extension API server the token of the caller', async () => {
    const secret = `base64url.bearer.authorization.${server.dialect.apiDomain}.c2VjcmV0`
    const offered = (protocols: string) =>
      open(admin, 'websocket', { 'sec-websocket-protocol': protocols })
    const passedOn = () => extension.asked.at(-1)?.headers['sec-websocket-protocol']
    await offered(`${secret}, taste.v1,${secret}, taste.v2`)
    expect(passedOn()).toBe('taste.v1, taste.v2')
    await offered(secret)
    expect(passedOn()).toBeUndefined()
  })

  it('are refused here to whoever may not', async () => {
    const before = extension.asked.length
    const { status, text } = await open(user('stranger'))
    expect(status).toBe(403)
    expect(JSON.parse(text)).toMatchObject({ reason: 'Forbidden' })
    expect(extension.asked.length).toBe(before)
  })
})
