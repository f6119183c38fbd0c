/** A node agent's listener that tells what it was asked: for requests the API server passes on. */
import { createServer as createHttpServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { duplexPair, type Duplex } from 'node:stream'
import { issue, type Pki } from '../../certs/pki.ts'
import { servingProfile } from '../../certs/profiles.ts'
import { forwardOverChannels } from '../../components/node-agent/streaming/port-forward.ts'
import { acceptHeader } from '../../components/node-agent/streaming/websocket-connection.ts'

/** The port that every pod of the agent listens on, with HTTP. */
export const listenedPort = 8080

export interface FakeNodeAgent extends AsyncDisposable {
  readonly port: number
  /** `GET /containerLogs/...` in order. */
  readonly requests: readonly string[]
  /** Of each request, in the same order. */
  readonly headers: readonly IncomingHttpHeaders[]
  /** Answers `/nodes/NAME/stats/summary`, at once or never. */
  summarize: (node: string, response: ServerResponse) => void
  /** A Node object whose agent this is. */
  node(name: string): { metadata: { name: string }; status: object }
}

/**
 * Answers every request with its method and path as text; one that asks for another protocol gets an echo, or is refused. Logs come
 * as a page with a cookie, those of the pod `redirected` as a redirect, those of `refused` not at all.
 * Pods listen on one port, through its port-forward over a WebSocket.
 */
export async function startFakeNodeAgent(pki: Pki): Promise<FakeNodeAgent> {
  const requests: string[] = []
  const headers: IncomingHttpHeaders[] = []
  const serving = issue(pki.authority, {
    profile: servingProfile({
      subject: { commonName: 'system:node:fake', organizations: ['system:nodes'] },
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1'],
    }),
    nowMs: Date.now(),
  })
  const server = createServer(
    { cert: serving.certificatePem, key: serving.privateKeyPem },
    (request, response) => {
      const line = `${request.method ?? ''} ${request.url ?? ''}`
      requests.push(line)
      headers.push(request.headers)
      const summarized = /^\/nodes\/([^/]+)\/stats\/summary\?/.exec(request.url ?? '')?.[1]
      if (summarized !== undefined) {
        agent.summarize(summarized, response)
        return
      }
      const isLog = request.url?.startsWith('/containerLogs/') === true
      response.setHeader('content-type', isLog ? 'text/html' : 'text/plain')
      if (isLog) response.setHeader('set-cookie', 'session=agent')
      if (isLog && request.url?.includes('/redirected/') === true) {
        response.writeHead(302, { location: 'https://elsewhere.example.com/' })
      }
      if (isLog && request.url?.includes('/refused/') === true) response.statusCode = 304
      response.end(`${line}\n`)
    },
  )
  const upgraded = new Set<Duplex>()
  const inPod = createHttpServer((request, response) => {
    response.end(`${request.headers.host} ${request.method ?? ''} ${request.url ?? ''}\n`)
  })
  const connect = async (port: number): Promise<Duplex> => {
    if (port !== listenedPort) throw new Error('connect: connection refused')
    const [client, accepted] = duplexPair()
    inPod.emit('connection', accepted)
    return client
  }
  const forwardPort = ({ url = '', headers: asked }: IncomingMessage, socket: Duplex): void => {
    const port = Number(new URL(url, 'https://agent').searchParams.get('ports'))
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        `Sec-WebSocket-Accept: ${acceptHeader(String(asked['sec-websocket-key']))}\r\n` +
        'Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n',
    )
    void forwardOverChannels(socket, { ports: [port], protocol: 'v4.channel.k8s.io' }, connect)
  }
  server.on('upgrade', (request, socket) => {
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`)
    headers.push(request.headers)
    const refused = 'content-type: text/html\r\ncontent-length: 8\r\n\r\nno, sir\n'
    if (request.url?.includes('refuse') === true) {
      socket.end(`HTTP/1.1 500 Internal Server Error\r\n${refused}`)
      return
    }
    if (request.url?.includes('redirected') === true) {
      socket.end(`HTTP/1.1 302 Found\r\nlocation: https://elsewhere.example.com/\r\n${refused}`)
      return
    }
    upgraded.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => upgraded.delete(socket))
    if (request.headers['sec-websocket-protocol'] === 'v4.channel.k8s.io') {
      forwardPort(request, socket)
      return
    }
    const protocol = request.headers['x-stream-protocol-version'] ?? ''
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n` +
        `X-Stream-Protocol-Version: ${String(protocol)}\r\nX-Secret: agents own\r\n\r\nwelcome `,
    )
    socket.pipe(socket)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const agent: FakeNodeAgent = {
    port,
    requests,
    headers,
    summarize: (_, response) => void response.writeHead(404).end(),
    node: (name) => ({
      metadata: { name },
      status: {
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
      },
    }),
    [Symbol.asyncDispose]: async () => {
      for (const socket of upgraded) socket.destroy()
      server.closeAllConnections()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
    },
  }
  return agent
}
