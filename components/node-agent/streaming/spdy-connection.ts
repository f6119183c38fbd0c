/**
 * SpdyConnection: the server's end of SPDY/3.1 as kubectl speaks it (exec, attach, port-forward): the client opens streams, each a
 * pipe of its own. Windows are not kept, as clients of this protocol do not keep them either.
 */
import { Duplex } from 'node:stream'
import { callbackify } from 'node:util'
import { byteReader } from './byte-reader.ts'
import { createHeaderReader, createHeaderWriter, mostHeaderBytes } from './spdy-headers.ts'
import type { SpdyHeaders } from './spdy-headers.ts'

const version = 3
const kinds = { synStream: 1, synReply: 2, rstStream: 3, ping: 6, goAway: 7, headers: 8 } as const
const fin = 1
const refusedStream = 3
/** Control frames hold some numbers and a header block, which deflate makes hardly longer. */
const mostControlBytes = mostHeaderBytes + 1024
/** Streams that are open at once; more are refused. */
const mostStreams = 1000
/** Bytes that are read of a stream in advance; more waits on the wire. */
const mostBufferedBytes = 1024 * 1024
const dataBytes = 32 * 1024

function controlFrame(kind: number, flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt16BE(0x80_00 | version)
  head.writeUInt16BE(kind, 2)
  head.writeUInt32BE(((flags << 24) | payload.length) >>> 0, 4)
  return Buffer.concat([head, payload])
}

function dataFrame(id: number, flags: number, data: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(id)
  head.writeUInt32BE(((flags << 24) | data.length) >>> 0, 4)
  return Buffer.concat([head, data])
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index)
  return bytes
}

/** One stream: read the client's data, write data to the client. Ending one direction leaves the other open. */
export class SpdyStream extends Duplex {
  readonly headers: SpdyHeaders
  readonly #id: number
  readonly #send: (frame: Buffer) => Promise<void>
  #isRead = Promise.withResolvers<void>()

  constructor(id: number, headers: SpdyHeaders, send: (frame: Buffer) => Promise<void>) {
    super()
    this.headers = headers
    this.#id = id
    this.#send = send
    // 'close' reports the end to the stream's user.
    this.on('error', () => {})
    this.once('close', () => this.#isRead.resolve())
  }

  /** Takes what the client sent; resolves when there is room for more. */
  async receive(data: Buffer): Promise<void> {
    if (this.destroyed || this.readableEnded) return
    this.push(data)
    while (this.readableLength > mostBufferedBytes && !this.destroyed) {
      this.#isRead = Promise.withResolvers()
      await this.#isRead.promise
    }
  }

  override _read(): void {
    this.#isRead.resolve()
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    const pieces: Buffer[] = []
    for (let at = 0; at < chunk.length; at += dataBytes) {
      pieces.push(dataFrame(this.#id, 0, chunk.subarray(at, at + dataBytes)))
    }
    callbackify(() => this.#send(Buffer.concat(pieces)))(done)
  }

  override _final(done: (error?: Error | null) => void): void {
    callbackify(() => this.#send(dataFrame(this.#id, fin, Buffer.alloc(0))))(done)
  }

  /** Refuses it, or cuts it off. */
  reset(): void {
    void this.#send(controlFrame(kinds.rstStream, 0, numbers(this.#id, 5))).catch(() => {})
    this.destroy()
  }
}

export interface SpdyConnection {
  /** Resolves when the other end is gone, or sent an unreadable frame. */
  readonly closed: Promise<void>
  /** Sends the frames under way, then ends. */
  end(): void
}

interface Frame {
  readonly head: Buffer
  readonly isControl: boolean
  readonly flags: number
  readonly payload: Buffer
}

/** Control frames come whole, data frames in the pieces in which they arrive: only the last of them has its flags. */
async function* framesOf(transport: Duplex): AsyncIterable<Frame> {
  const bytes = byteReader(transport as AsyncIterable<Buffer>)
  for (let head = await bytes.exactly(8); head !== undefined; head = await bytes.exactly(8)) {
    const isControl = (head.readUInt8() & 0x80) !== 0
    const flags = head.readUInt8(4)
    let missing = head.readUIntBE(5, 3)
    if (isControl && missing > mostControlBytes) throw new Error('a SPDY frame is too long')
    do {
      const payload = await (isControl || missing === 0
        ? bytes.exactly(missing)
        : bytes.some(missing))
      if (payload === undefined) return
      missing -= payload.length
      yield { head, isControl, flags: missing === 0 ? flags : 0, payload }
    } while (missing > 0)
  }
}

interface Spdy {
  readonly transport: Duplex
  readonly onStream: (stream: SpdyStream) => void
  readonly reader: ReturnType<typeof createHeaderReader>
  readonly writeHeaders: ReturnType<typeof createHeaderWriter>
  readonly streams: Map<number, SpdyStream>
}

/** Serves the connection on a transport of bytes. It calls `onStream` with each new stream; an error it throws ends the connection. */
export function serveSpdy(
  transport: Duplex,
  onStream: (stream: SpdyStream) => void,
): SpdyConnection {
  const reader = createHeaderReader()
  const writeHeaders = createHeaderWriter()
  const spdy = { transport, onStream, reader, writeHeaders, streams: new Map() }
  return {
    closed: readFrames(spdy).catch(() => {
      // An unreadable frame ends the connection; the client sees that.
    }),
    end: () => void transport.end(),
  }
}

/** Resolves once the transport takes more. */
async function send(transport: Duplex, frame: Buffer): Promise<void> {
  if (!transport.writable) throw new Error('the connection has ended')
  if (transport.write(frame)) return
  await new Promise<void>((resolve) => {
    const go = (): void => {
      transport.off('drain', go).off('close', go)
      resolve()
    }
    transport.once('drain', go).once('close', go)
  })
}

async function readFrames(spdy: Spdy): Promise<void> {
  const { transport, reader, streams } = spdy
  try {
    for await (const { head, isControl, flags, payload } of framesOf(transport)) {
      if (isControl) {
        const kind = head.readUInt16BE(2)
        if (kind !== kinds.goAway) await onControl(spdy, { kind, flags, payload })
        continue
      }
      const stream = streams.get(head.readUInt32BE() & 0x7f_ff_ff_ff)
      if (payload.length > 0) await stream?.receive(Buffer.from(payload))
      if ((flags & fin) !== 0 && stream !== undefined && !stream.destroyed) stream.push(null)
    }
  } finally {
    reader.close()
    for (const stream of streams.values()) stream.destroy()
    transport.destroy()
  }
}

async function onControl(
  spdy: Spdy,
  { kind, flags, payload }: { kind: number; flags: number; payload: Buffer },
): Promise<void> {
  const { transport, reader, streams } = spdy
  if (kind === kinds.synStream) await openStream(spdy, flags, payload)
  else if (kind === kinds.headers || kind === kinds.synReply) {
    // Nothing of ours is in it, but the next block builds on it.
    await reader.read(payload.subarray(4))
  } else if (kind === kinds.rstStream) {
    streams.get(payload.readUInt32BE() & 0x7f_ff_ff_ff)?.destroy()
  } else if (kind === kinds.ping) await send(transport, controlFrame(kinds.ping, 0, payload))
}

async function openStream(spdy: Spdy, flags: number, payload: Buffer): Promise<void> {
  const { transport, onStream, reader, writeHeaders, streams } = spdy
  const id = payload.readUInt32BE() & 0x7f_ff_ff_ff
  const headers = await reader.read(payload.subarray(10))
  if (streams.size >= mostStreams) {
    await send(transport, controlFrame(kinds.rstStream, 0, numbers(id, refusedStream)))
    return
  }
  const stream = new SpdyStream(id, headers, (frame) => send(transport, frame))
  streams.set(id, stream)
  stream.once('close', () => streams.delete(id))
  const reply = Buffer.concat([numbers(id), writeHeaders(new Map())])
  await send(transport, controlFrame(kinds.synReply, 0, reply))
  if ((flags & fin) !== 0) stream.push(null)
  onStream(stream)
}
