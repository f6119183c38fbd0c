/** bodyOf: the body of a request, up to a limit. */
import type { IncomingMessage } from 'node:http'

export class BodyTooLarge extends Error {}

/** Rejects with BodyTooLarge. */
export async function bodyOf(request: IncomingMessage, mostBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > mostBytes) throw new BodyTooLarge(`the body has more than ${mostBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
