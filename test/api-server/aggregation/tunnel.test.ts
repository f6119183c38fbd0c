/** How two connections are joined. */
import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { expect, it } from 'vitest'
import { join } from '../../../components/api-server/egress/tunnel.ts'

/** A connection that says what `pieces` are, and remembers what each write that reaches the system brings. */
function connection(pieces: readonly string[], writes: string[] = []): Duplex {
  const waiting = [...pieces]
  return new Duplex({
    read() {
      this.push(waiting.shift() ?? null)
    },
    write: (chunk: Buffer, _, done) => {
      writes.push(chunk.toString())
      setImmediate(done)
    },
    writev: (chunks, done) => {
      writes.push(chunks.map(({ chunk }) => String(chunk)).join(''))
      setImmediate(done)
    },
  })
}

it('what comes in pieces leaves in the same pieces, however slow the other side', async () => {
  const writes: string[] = []
  const client = connection([], writes)
  const server = connection(['one', 'two', 'three'])
  const head = Buffer.alloc(0)
  const finished = once(client, 'finish')
  join(
    { socket: client, head },
    { socket: server, head: Buffer.from('zero') },
    AbortSignal.timeout(60_000),
  )
  await finished
  expect(writes).toEqual(['zero', 'one', 'two', 'three'])
})
