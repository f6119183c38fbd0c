/** Stream server: /exec, /attach and /portForward of the node's server: connections that go on as SPDY/3.1 or as a WebSocket. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../component-base/clock.ts'
import type { Answer, HttpRequest } from '../../component-base/http.ts'
import { refuseUpgrade } from '../../component-base/http1-exchange.ts'
import type { Log } from '../../component-base/log.ts'
import { refusal, routeOf, text } from '../server/server.ts'
import type { Route, ServedNode } from '../server/server.ts'
import {
  commandProtocols,
  spdyChannels,
  spdyCommandProtocols,
  streamCloseProtocol,
  webSocketChannels,
} from './channels.ts'
import type { Channels } from './channels.ts'
import {
  channelProtocols,
  forwardOverChannels,
  forwardOverSpdy,
  forwardThroughTunnel,
  readPort,
  spdyPortForwardProtocol,
  tunnelProtocol,
} from './port-forward.ts'
import { runRemoteCommand } from './remote-command.ts'
import { acceptHeader } from './websocket-connection.ts'

const spdy = 'spdy/3.1'

/** Requests that this server takes over. */
export function isStreamRequest({ url = '', headers }: IncomingMessage): boolean {
  const protocol = (headers.upgrade ?? '').toLowerCase()
  if (protocol !== 'websocket' && protocol !== spdy) return false
  return /^\/(nodes\/[^/]+\/)?(exec|attach|portForward)\//.test(url)
}

/** One connection that was taken over. */
interface Session {
  /** The header that says which of the offered protocols is spoken, and which. */
  readonly protocol: string
  serve(socket: Duplex): Promise<void>
}

interface Handshake {
  readonly isSpdy: boolean
  /** The client's protocols, the preferred first. */
  readonly offered: readonly string[]
}

function handshakeOf(request: HttpRequest): Handshake {
  const isSpdy = String(request.headers['upgrade']).toLowerCase() === spdy
  const name = isSpdy ? 'x-stream-protocol-version' : 'sec-websocket-protocol'
  const offered = request.values(name).flatMap((value) => value.split(',').map((one) => one.trim()))
  return { isSpdy, offered }
}

function isTrue(query: URLSearchParams, name: string): boolean {
  return ['1', 'true'].includes(query.get(name) ?? '')
}

const isAnswer = (value: Answer | Session): value is Answer => 'status' in value

function commandSession(
  { node, parts, query }: Route,
  { isSpdy, offered }: Handshake,
  clock: Clock,
): Answer | Session {
  const [kind, namespace = '', pod = '', container = ''] = parts
  const found = node.container(namespace, pod, container)
  if (found === undefined) return text(404, 'pod does not exist')
  const { id } = found
  if (id === undefined || !found.isRunning) {
    return text(500, `container not found (${JSON.stringify(container)})`)
  }
  const wanted = {
    stdin: isTrue(query, 'input'),
    stdout: isTrue(query, 'output'),
    stderr: isTrue(query, 'error'),
    isTerminal: isTrue(query, 'tty'),
  }
  if (!wanted.stdin && !wanted.stdout && !wanted.stderr) {
    return text(400, 'you must specify at least 1 of stdin, stdout, stderr')
  }
  const command = kind === 'exec' ? query.getAll('command') : undefined
  const known: readonly string[] = isSpdy ? spdyCommandProtocols : commandProtocols
  const protocol = negotiated({ isSpdy, offered }, known)
  if (protocol === undefined) return noProtocol(offered, known)
  return {
    protocol,
    serve: async (socket) => {
      const channels: Channels = isSpdy
        ? await spdyChannels(socket, wanted, clock)
        : webSocketChannels(socket, wanted, protocol)
      const work = { containerId: id, command, isTerminal: wanted.isTerminal }
      await runRemoteCommand(node.runtime, work, channels)
    },
  }
}

/**
 * The protocol to speak: the one that signals the end of the input if it is offered, else the first known protocol that the
 * client offers. A WebSocket may offer none, which is ''. Undefined if client and server have no protocol in common.
 */
function negotiated({ isSpdy, offered }: Handshake, known: readonly string[]): string | undefined {
  const wanted = offered.length === 0 && !isSpdy ? [''] : offered
  const common = wanted.filter((one) => known.includes(one))
  return common.find((one) => one === streamCloseProtocol) ?? common[0]
}

function noProtocol(offered: readonly string[], known: readonly string[]): Answer {
  return text(
    403,
    `unable to negotiate protocol: client supports [${offered.join(' ')}], server supports [${known.filter((one) => one !== '').join(' ')}]`,
  )
}

function portForwardSession(
  { node, parts, query }: Route,
  { isSpdy, offered }: Handshake,
): Answer | Session {
  const [, namespace = '', name = ''] = parts
  const pod = node
    .pods()
    .find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
  if (pod === undefined) return text(404, 'pod does not exist')
  const connect = async (port: number): Promise<Duplex> =>
    await node.runtime.connect(pod.metadata.uid ?? '', port)
  if (isSpdy) {
    const protocol = spdyPortForwardProtocol
    if (!offered.includes(protocol)) return noProtocol(offered, [protocol])
    return { protocol, serve: async (socket) => await forwardOverSpdy(socket, connect) }
  }
  if (offered.includes(tunnelProtocol)) {
    const serve = async (socket: Duplex): Promise<void> =>
      await forwardThroughTunnel(socket, connect)
    return { protocol: tunnelProtocol, serve }
  }
  const protocol = negotiated({ isSpdy, offered }, channelProtocols)
  if (protocol === undefined) return noProtocol(offered, [tunnelProtocol, ...channelProtocols])
  const texts = query.getAll('ports').flatMap((list) => list.split(','))
  const ports = texts.map(readPort)
  const bad = ports.indexOf(undefined)
  if (texts.length === 0) return text(400, '"port" query parameter is required')
  if (bad >= 0) return text(400, `invalid port ${JSON.stringify(texts[bad])}`)
  return {
    protocol,
    serve: async (socket) =>
      await forwardOverChannels(
        socket,
        { ports: ports.filter((port) => port !== undefined), protocol },
        connect,
      ),
  }
}

function switchingHead(request: HttpRequest, { isSpdy }: Handshake, protocol: string): string {
  const lines = isSpdy
    ? ['Upgrade: SPDY/3.1', `X-Stream-Protocol-Version: ${protocol}`]
    : [
        'Upgrade: websocket',
        `Sec-WebSocket-Accept: ${acceptHeader(String(request.headers['sec-websocket-key'] ?? ''))}`,
        ...(protocol === '' ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
      ]
  return ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', ...lines, '', ''].join('\r\n')
}

/** Takes over connections; a rejected caller gets an ordinary answer. */
export function createStreamServer(options: {
  readonly nodes: () => readonly ServedNode[]
  readonly clock: Clock
  readonly log: Log
}): (request: HttpRequest, connection: { socket: Duplex; head: Buffer }) => void {
  const { nodes, clock, log } = options
  const open = async (request: HttpRequest, socket: Duplex, head: Buffer): Promise<void> => {
    const target = URL.parse(request.url, 'https://localhost')
    const route = target === null ? undefined : routeOf(target, nodes())
    if (route === undefined) {
      refuseUpgrade(socket, text(404, '404 page not found\n'))
      return
    }
    const handshake = handshakeOf(request)
    const session =
      (await refusal(request, route, log)) ??
      (route.parts[0] === 'portForward'
        ? portForwardSession(route, handshake)
        : commandSession(route, handshake, clock))
    if (isAnswer(session)) {
      refuseUpgrade(socket, session)
      return
    }
    if (head.length > 0) socket.unshift(head)
    socket.write(switchingHead(request, handshake, session.protocol))
    await session.serve(socket)
  }
  return (request, { socket, head }) => {
    open(request, socket, head).catch((error: unknown) => {
      log.debug('a stream was cut off', { error: String(error) })
      socket.destroy()
    })
  }
}
