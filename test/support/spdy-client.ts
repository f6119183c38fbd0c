/** The client's end of SPDY/3.1, as much of it as kubectl uses: opens streams, sends data, and keeps what comes back. */
import type { Duplex } from 'node:stream'
import { constants, createDeflate } from 'node:zlib'
import {
  lengthPrefixed,
  spdyDictionary,
} from '../../components/node-agent/streaming/spdy-dictionary.ts'

export interface SpdyClientStream {
  send(text: string): void
  /** Says that nothing more comes. */
  end(): void
  /** Everything that came until its end. */
  readonly text: Promise<string>
  /** The text when it has come to hold that. */
  until(part: string): Promise<string>
}

export function spdyClient(transport: Duplex): {
  open(headers: Readonly<Record<string, string>>): Promise<SpdyClientStream>
  ping(): Promise<void>
  readonly closed: Promise<void>
} {
  const deflate = createDeflate({ dictionary: spdyDictionary, flush: constants.Z_SYNC_FLUSH })
  const compressed: Buffer[] = []
  deflate.on('data', (chunk: Buffer) => compressed.push(chunk))
  const streams = new Map<number, { text: string; end: () => void; look: () => void }>()
  const pinged = Promise.withResolvers<void>()
  let lastId = -1

  const frame = (words: readonly number[], payload: Buffer): Buffer => {
    const head = Buffer.alloc(8)
    head.writeUInt32BE((words[0] ?? 0) >>> 0)
    head.writeUInt32BE((((words[1] ?? 0) << 24) | payload.length) >>> 0, 4)
    return Buffer.concat([head, payload])
  }
  const control = (kind: number, payload: Buffer): Buffer =>
    frame([0x80_03_00_00 | kind, 0], payload)

  let rest: Buffer = Buffer.alloc(0)
  transport.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 8 && rest.length >= 8 + rest.readUIntBE(5, 3)) {
      const payload = rest.subarray(8, 8 + rest.readUIntBE(5, 3))
      const isControl = (rest[0] ?? 0) >= 0x80
      if (isControl && rest.readUInt16BE(2) === 6) pinged.resolve()
      // Reset by the other end.
      if (isControl && rest.readUInt16BE(2) === 3) streams.get(payload.readUInt32BE())?.end()
      const stream = isControl ? undefined : streams.get(rest.readUInt32BE())
      if (stream !== undefined) {
        stream.text += payload.toString()
        stream.look()
        if (((rest[4] ?? 0) & 1) !== 0) stream.end()
      }
      rest = rest.subarray(8 + payload.length)
    }
  })
  const closed = new Promise<void>((resolve) => {
    transport.once('close', () => {
      for (const stream of streams.values()) stream.end()
      resolve()
    })
  })
  return {
    closed,
    ping: async () => {
      transport.write(control(6, Buffer.from([0, 0, 0, 1])))
      await pinged.promise
    },
    open: async (headers) => {
      lastId += 2
      const id = lastId
      const pairs = Object.entries(headers).flat().map(lengthPrefixed)
      const count = Buffer.from([0, 0, 0, Object.keys(headers).length])
      compressed.length = 0
      await new Promise<void>((resolve) => {
        deflate.write(Buffer.concat([count, ...pairs]), () => resolve())
      })
      const block = Buffer.concat(compressed)
      const ids = Buffer.alloc(10)
      ids.writeUInt32BE(id)
      const text = Promise.withResolvers<string>()
      const waiting: { part: string; resolve: (text: string) => void }[] = []
      const state = {
        text: '',
        end: () => text.resolve(state.text),
        look: () => {
          for (const { part, resolve } of waiting)
            if (state.text.includes(part)) resolve(state.text)
        },
      }
      streams.set(id, state)
      transport.write(control(1, Buffer.concat([ids, block])))
      return {
        send: (data) => void transport.write(frame([id, 0], Buffer.from(data))),
        end: () => void transport.write(frame([id, 1], Buffer.alloc(0))),
        text: text.promise,
        until: (part) =>
          new Promise((resolve) => {
            waiting.push({ part, resolve })
            state.look()
          }),
      }
    },
  }
}
