/**
 * NumberedChannels: the channels of a WebSocket whose messages begin with their channel's number: a byte before bytes, or in the
 * base64 protocols a character before base64 (upstream: wsstream.Conn).
 */
import type { Duplex } from 'node:stream'
import { serveWebSocket } from './websocket-connection.ts'

export interface NumberedChannels {
  /** Resolves when it has been handed over to the system, or when the peer is gone. */
  send(channel: number, data: Buffer): Promise<void>
  /** Says goodbye and ends. */
  close(): void
  /** Resolves when the peer is gone, or has broken the protocol. */
  readonly closed: Promise<void>
}

const zero = 0x30

/** `onData` gets one message after the other, and the next only when it has resolved. Messages without a number are dropped. */
export function numberedChannels(
  socket: Duplex,
  protocol: string,
  onData: (channel: number, data: Buffer) => Promise<void> | void,
): NumberedChannels {
  const isBase64 = protocol.includes('base64')
  const connection = serveWebSocket(socket, async (message) => {
    const [first] = message
    if (first === undefined) return
    const rest = message.subarray(1)
    if (isBase64) await onData(first - zero, Buffer.from(rest.toString('latin1'), 'base64'))
    else await onData(first, rest)
  })
  return {
    send: async (channel, data) => {
      const head = Buffer.from([isBase64 ? zero + channel : channel])
      const body = isBase64 ? Buffer.from(data.toString('base64')) : data
      await connection.send(Buffer.concat([head, body]), isBase64)
    },
    close: () => connection.close(),
    closed: connection.closed,
  }
}
