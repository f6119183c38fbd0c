/** A gRPC server on a socket, whose callers give up, die or talk nonsense. */
import http2 from 'node:http2'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { framed } from '../../../components/component-base/grpc/grpc-messages.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { GrpcError } from '../../../components/component-base/grpc/grpc-error.ts'
import { serveGrpc, type GrpcMethod } from '../../../components/component-base/grpc/grpc-server.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('grpc')
const path = join(folder, 'a.sock')
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

async function serve(method: GrpcMethod): Promise<void> {
  const stop = new AbortController()
  const served = serveGrpc({ path, methods: { '/a.A/A': method }, log: silentLog }, stop.signal)
  ends.push(async () => {
    stop.abort()
    await served
  })
}

/** A connection to what listens there, or will in a moment. */
async function session(): Promise<http2.ClientHttp2Session> {
  return await eventually(
    async () =>
      await new Promise((resolve, reject) => {
        const made = http2.connect('http://localhost', { createConnection: () => connect(path) })
        ends.push(() => made.destroy())
        made.on('error', reject)
        made.on('connect', () => resolve(made))
      }),
  )
}

const call = (on: http2.ClientHttp2Session): http2.ClientHttp2Stream =>
  on.request({ ':method': 'POST', ':path': '/a.A/A' }).on('error', () => {}) // cut off, as the test wants it

/** An empty message. */
const empty = Buffer.alloc(5)

test('a caller may give up at any moment: the server goes on', async () => {
  let isOver = 0
  await serve(async (message) => {
    for (let turn = 0; turn < isOver % 8; turn += 1) await nextTurn()
    isOver += 1
    if (isOver % 2 === 0) throw new GrpcError(3, 'no')
    return message
  })
  const client = await session()
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const asked = call(client).end(attempt % 5 === 0 ? Buffer.alloc(3) : empty)
    for (let turn = 0; turn < attempt % 7; turn += 1) await nextTurn()
    asked.close(http2.constants.NGHTTP2_CANCEL)
  }
  const code = await new Promise((resolve) => {
    call(client)
      .on('response', (headers) => resolve(headers['grpc-status']))
      .end(Buffer.from([1, 0, 0, 0, 0]))
  })
  expect(code).toBe('12')
})

test('a caller may send a message in pieces of any size', async () => {
  await serve((message) => message)
  const asked = call(await session())
  const message = Buffer.from('taken apart')
  for (const byte of framed(message)) {
    asked.write(Buffer.from([byte]))
    await nextTurn()
  }
  asked.end()
  const chunks: Buffer[] = []
  for await (const chunk of asked) chunks.push(chunk as Buffer)
  expect(Buffer.concat(chunks)).toEqual(framed(message))
})

test('a message of more than 4 MB is refused without being read', async () => {
  await serve((message) => message)
  const asked = call(await session())
  const headers = new Promise<http2.IncomingHttpHeaders>((resolve) => {
    asked.on('response', resolve)
  })
  asked.write(Buffer.from([0, 0, 0x40, 0, 1]))
  expect(await headers).toMatchObject({ 'grpc-status': '8' })
})
