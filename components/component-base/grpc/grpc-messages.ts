/** Messages on a gRPC stream: a byte for compression, four for the length, then the message (gRPC: doc/PROTOCOL-HTTP2.md). */
import { grpcCode, GrpcError } from './grpc-error.ts'

const headBytes = 5

export const grpcContentType = 'application/grpc+proto'

export interface MessageLimits {
  /** Larger messages end the call with RESOURCE_EXHAUSTED. */
  readonly mostBytes: number
  /** The code for compressed messages: servers say UNIMPLEMENTED, clients INTERNAL. */
  readonly compressedCode: number
}

/** The message as it goes over the wire. */
export function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + message.length)
  frame[0] = 0
  frame.writeUInt32BE(message.length, 1)
  message.copy(frame, headBytes)
  return frame
}

/** Decodes a percent-encoded text; any other text stays as it is. */
export function decodedText(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Puts messages together from chunks of any size. It holds no more than one message and one chunk. */
export class MessageReader {
  readonly #limits: MessageLimits
  #chunks: Buffer[] = []
  #heldBytes = 0
  /** Of the message whose head has been read. */
  #length: number | undefined

  constructor(limits: MessageLimits) {
    this.#limits = limits
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#heldBytes += chunk.length
  }

  /** Some bytes of a message have come, the rest has not. */
  get isWithinMessage(): boolean {
    return this.#heldBytes > 0 || this.#length !== undefined
  }

  /** The next whole message, a view of the chunks. Throws a GrpcError for one that is compressed or too large. */
  next(): Buffer | undefined {
    if (this.#length === undefined) {
      if (this.#heldBytes < headBytes) return undefined
      this.#length = this.#readHead(this.#take(headBytes))
    }
    if (this.#heldBytes < this.#length) return undefined
    const message = this.#take(this.#length)
    this.#length = undefined
    return message
  }

  #readHead(head: Buffer): number {
    const { mostBytes, compressedCode } = this.#limits
    if (head[0] !== 0) throw new GrpcError(compressedCode, 'compressed messages are not read')
    const length = head.readUInt32BE(1)
    if (length <= mostBytes) return length
    throw new GrpcError(
      grpcCode.resourceExhausted,
      `the message has ${length} bytes, more than the ${mostBytes} that are read`,
    )
  }

  /** The first bytes; there are as many. */
  #take(count: number): Buffer {
    this.#heldBytes -= count
    const [first] = this.#chunks
    if (first !== undefined && first.length > count) {
      this.#chunks[0] = first.subarray(count)
      return first.subarray(0, count)
    }
    const all =
      this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks)
    this.#chunks = all.length > count ? [all.subarray(count)] : []
    return all.subarray(0, count)
  }
}
