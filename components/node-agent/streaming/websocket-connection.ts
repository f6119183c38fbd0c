/** WebSocketConnection: the server's end of a WebSocket (RFC 6455) on a connection that was handed over. */
import { createHash } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { byteReader } from './byte-reader.ts'
import type { ByteReader } from './byte-reader.ts'

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const
const mostMessageBytes = 4 * 1024 * 1024
/** RFC 6455, 1.3. */
const keySuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

export interface WebSocketConnection {
  /** Resolves when it has been handed over to the system, or when the peer is gone. */
  send(data: Buffer, isText?: boolean): Promise<void>
  /** Says goodbye and ends. */
  close(code?: number): void
  /** Resolves when the peer is gone, or has broken the protocol. */
  readonly closed: Promise<void>
}

/** The Sec-WebSocket-Accept header that answers this key (RFC 6455, 4.2.2). */
export function acceptHeader(key: string): string {
  return createHash('sha1')
    .update(key + keySuffix)
    .digest('base64')
}

function frame(opcode: number, data: Buffer): Buffer {
  const { length } = data
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10)
  head.writeUInt8(0x80 | opcode)
  if (head.length === 2) head.writeUInt8(length, 1)
  else if (head.length === 4) {
    head.writeUInt8(126, 1)
    head.writeUInt16BE(length, 2)
  } else {
    head.writeUInt8(127, 1)
    head.writeBigUInt64BE(BigInt(length), 2)
  }
  return Buffer.concat([head, data])
}

interface Frame {
  readonly isLast: boolean
  readonly opcode: number
  readonly data: Buffer
}

async function readLength(bytes: ByteReader, short: number): Promise<number | undefined> {
  if (short < 126) return short
  const long = await bytes.exactly(short === 126 ? 2 : 8)
  if (long === undefined) return undefined
  return short === 126 ? long.readUInt16BE() : Number(long.readBigUInt64BE())
}

/** Undefined at the end. Rejects when the peer breaks the protocol. */
async function readFrame(bytes: ByteReader): Promise<Frame | undefined> {
  const head = await bytes.exactly(2)
  if (head === undefined) return undefined
  const [first, second] = [head.readUInt8(), head.readUInt8(1)]
  if ((first & 0x70) !== 0) throw new Error('an extension that was not agreed on')
  if ((second & 0x80) === 0) throw new Error('a frame of a client without a mask')
  const length = await readLength(bytes, second & 0x7f)
  if (length === undefined) return undefined
  if (length > mostMessageBytes) throw new Error('a frame that is too long')
  const mask = await bytes.exactly(4)
  const masked = await bytes.exactly(length)
  if (mask === undefined || masked === undefined) return undefined
  const data = Buffer.from(masked)
  for (let index = 0; index < length; index += 1) {
    data[index] = (data[index] ?? 0) ^ (mask[index & 3] ?? 0)
  }
  return { isLast: (first & 0x80) !== 0, opcode: first & 0x0f, data }
}

/** Serves it; `onMessage` gets one whole message after the other, and the next only when it has resolved. */
export function serveWebSocket(
  socket: Duplex,
  onMessage: (data: Buffer) => Promise<void> | void,
): WebSocketConnection {
  let isClosing = false
  // Each frame goes alone, and so in a TLS record of its own: there are clients (Python's) that read one frame each time their
  // socket becomes readable, and would not see the next one of the same record.
  let sent: Promise<void> = Promise.resolve()
  const send = (opcode: number, data: Buffer): Promise<void> => {
    if (isClosing || !socket.writable) return sent
    sent = sent.then(
      () => new Promise((resolve) => void socket.write(frame(opcode, data), () => resolve())),
    )
    return sent
  }
  const close = (code = 1000): void => {
    if (isClosing) return
    isClosing = true
    const reason = Buffer.alloc(2)
    reason.writeUInt16BE(code)
    void sent.then(() => socket.writable && socket.end(frame(opcodes.close, reason)))
  }

  let parts: Buffer[] = []
  let size = 0
  const onFrame = async ({ isLast, opcode, data }: Frame): Promise<void> => {
    if (opcode === opcodes.ping) await send(opcodes.pong, data)
    else if (opcode === opcodes.close) close()
    else if (opcode <= opcodes.binary) {
      if (data.length > 0) parts.push(data)
      size += data.length
      if (size > mostMessageBytes) throw new Error('a message that is too long')
      if (!isLast) return
      const whole = parts.length === 1 ? (parts[0] ?? data) : Buffer.concat(parts)
      parts = []
      size = 0
      await onMessage(whole)
    }
  }
  const read = async (): Promise<void> => {
    const bytes = byteReader(socket as AsyncIterable<Buffer>)
    try {
      for (let next = await readFrame(bytes); next !== undefined; next = await readFrame(bytes)) {
        await onFrame(next)
      }
    } catch {
      close(1002) // the peer broke the protocol
    } finally {
      socket.destroy()
    }
  }
  return {
    send: (data, isText = false) => send(isText ? opcodes.text : opcodes.binary, data),
    close,
    closed: read(),
  }
}
