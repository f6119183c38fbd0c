/** Channels: the pipes of one exec or attach, however they came: as SPDY streams, or as numbered messages of a WebSocket. */
import { PassThrough, Writable } from 'node:stream'
import type { Duplex, Readable } from 'node:stream'
import { callbackify } from 'node:util'
import type { Clock } from '../../component-base/clock.ts'
import { serveSpdy } from './spdy-connection.ts'
import type { SpdyStream } from './spdy-connection.ts'
import { numberedChannels } from './numbered-channels.ts'

export interface WantedChannels {
  readonly stdin: boolean
  readonly stdout: boolean
  readonly stderr: boolean
  /** A terminal has no stderr of its own. */
  readonly isTerminal: boolean
}

/** How a command or an attach ended: a Status. */
export interface CommandStatus {
  readonly metadata: object
  readonly status: 'Success' | 'Failure'
  readonly message?: string
  readonly reason?: string
  readonly details?: object
  readonly code?: number
}

export interface Channels {
  readonly stdin: Readable | undefined
  readonly stdout: Writable | undefined
  readonly stderr: Writable | undefined
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal
  /** Ends the output, says how it ended, and closes the connection. */
  finish(status: CommandStatus): Promise<void>
}

/** Has a message for the end of the input. */
export const streamCloseProtocol = 'v5.channel.k8s.io'
/**
 * What a WebSocket client may ask for; '' stands for no protocol (upstream: createWebSocketStreams). Those before v4 say how the command
 * failed in words, and nothing when it succeeded.
 */
export const commandProtocols = [
  streamCloseProtocol,
  'v4.channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'channel.k8s.io',
  'base64.channel.k8s.io',
  '',
] as const
/** The same of SPDY clients. */
export const spdyCommandProtocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const

const numbers = { stdin: 0, stdout: 1, stderr: 2, error: 3, closeOf: 255 } as const

async function ended(stream: Writable | undefined, last?: Buffer): Promise<void> {
  if (stream === undefined || stream.destroyed) return
  await new Promise<void>((resolve) => {
    stream.once('close', resolve)
    stream.end(last, resolve)
  })
}

/** The status as a protocol has it; undefined when it has nothing to say. */
function statusText(status: CommandStatus, protocol: string): string | undefined {
  if (/^v[45]\./.test(protocol)) return JSON.stringify(status)
  return status.status === 'Success' ? undefined : status.message
}

/** Channels over a WebSocket; the handshake has been answered. */
export function webSocketChannels(
  socket: Duplex,
  wanted: WantedChannels,
  protocol: string,
): Channels {
  const stdin = wanted.stdin ? new PassThrough() : undefined
  const gone = new AbortController()

  const onData = async (number: number, data: Buffer): Promise<void> => {
    const isEnd = protocol === streamCloseProtocol && number === numbers.closeOf
    if (isEnd && data[0] === numbers.stdin) stdin?.end()
    if (number !== numbers.stdin || stdin === undefined || stdin.writableEnded) return
    if (!stdin.write(data)) {
      await new Promise<void>((resolve) => void stdin.once('drain', resolve).once('close', resolve))
    }
  }
  const connection = numberedChannels(socket, protocol, onData)
  const { send } = connection
  const channel = (number: number): Writable =>
    new Writable({
      write: (chunk: Buffer, _, done) => callbackify(() => send(number, chunk))(done),
    })
  void connection.closed.then(() => {
    gone.abort(new Error('the client is gone'))
    stdin?.destroy()
  })
  const stdout = wanted.stdout ? channel(numbers.stdout) : undefined
  const stderr = wanted.stderr && !wanted.isTerminal ? channel(numbers.stderr) : undefined
  // Nothing, to say that the command runs now: some clients wait for it.
  const first = stdout ? numbers.stdout : stderr ? numbers.stderr : numbers.error
  void send(first, Buffer.alloc(0))
  return {
    stdin,
    stdout,
    stderr,
    signal: gone.signal,
    finish: async (status) => {
      // The reader is gone; output that still comes must not delay the end.
      stdin?.destroy()
      await Promise.all([ended(stdout), ended(stderr)])
      const text = statusText(status, protocol)
      if (text !== undefined) await send(numbers.error, Buffer.from(text))
      connection.close()
      await connection.closed
    },
  }
}

/** How long a client may take to open its streams. */
const openMs = 30_000

/** Channels over SPDY; the upgrade has been answered. Rejects when the client does not open what it announced. */
export async function spdyChannels(
  socket: Duplex,
  wanted: WantedChannels,
  clock: Clock,
): Promise<Channels> {
  const expected = new Set(['error'])
  if (wanted.stdin) expected.add('stdin')
  if (wanted.stdout) expected.add('stdout')
  if (wanted.stderr && !wanted.isTerminal) expected.add('stderr')
  if (wanted.isTerminal) expected.add('resize')
  const streams = new Map<string, SpdyStream>()
  const complete = Promise.withResolvers<void>()
  const gone = new AbortController()
  const connection = serveSpdy(socket, (stream) => {
    const kind = stream.headers.get('streamtype') ?? ''
    if (!expected.has(kind) || streams.has(kind)) {
      stream.reset()
      return
    }
    streams.set(kind, stream)
    if (streams.size === expected.size) complete.resolve()
  })
  void connection.closed.then(() => {
    gone.abort(new Error('the client is gone'))
    complete.reject(new Error('the client is gone'))
  })
  const cancel = clock.after(openMs, () => {
    complete.reject(new Error('the client did not open its streams'))
  })
  try {
    await complete.promise
  } catch (error) {
    connection.end()
    throw error
  } finally {
    cancel()
  }
  // A simulated terminal has no size: resize messages are read and dropped.
  streams.get('resize')?.resume()
  const [stdout, stderr] = [streams.get('stdout'), streams.get('stderr')]
  return {
    stdin: streams.get('stdin'),
    stdout,
    stderr,
    signal: gone.signal,
    finish: async (status) => {
      streams.get('stdin')?.destroy()
      await Promise.all([ended(stdout), ended(stderr)])
      await ended(streams.get('error'), Buffer.from(JSON.stringify(status)))
      connection.end()
      await connection.closed
    },
  }
}
