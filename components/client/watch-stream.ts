/** Watch streams: newline-separated JSON events in chunks of any size -> events, each parsed once. */
import type { KubeObject } from '../machinery/objects/object.ts'
import type { Status } from '../machinery/objects/status-error.ts'
import { StatusError } from '../machinery/objects/status-error.ts'
import { ConnectionError } from './connection-error.ts'
import type { WatchEvent } from './resource-client.ts'

const newline = 0x0a

/** Whole lines of a byte stream, without the newline. A last line without one is dropped: it was cut off. */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let pending: Buffer[] = []
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const tail = chunk.subarray(start, end)
      yield pending.length === 0 ? tail : Buffer.concat([...pending, tail])
      pending = []
      start = end + 1
    }
    if (start < chunk.length) pending.push(chunk.subarray(start))
  }
}

/** The values of a stream of lines of JSON. Throws a ConnectionError for a line that is not JSON. */
export async function* jsonLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<unknown, void> {
  for await (const line of linesOf(chunks)) {
    if (line.length === 0) continue
    let value: unknown
    try {
      value = JSON.parse(line.toString())
    } catch (error) {
      throw new ConnectionError('malformed', 'the server sent a line that is not JSON', error)
    }
    yield value
  }
}

/** The events of one watch response. An ERROR event ends it with a StatusError (410: list again). */
export async function* watchEvents<T extends KubeObject>(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<WatchEvent<T>, void> {
  for await (const value of jsonLines(chunks)) {
    const event = value as { type: string; object: unknown }
    if (event.type === 'ERROR') {
      const status = event.object as Partial<Status>
      throw StatusError.fromStatus(status, status.code ?? 500)
    }
    yield event as WatchEvent<T>
  }
}
