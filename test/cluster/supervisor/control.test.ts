/** The control socket between peers of which one breaks off or talks nonsense. */
import { createConnection, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { connectControl } from '../../../cluster/control-client.ts'
import { serveControl } from '../../../cluster/supervisor/control-server.ts'
import { createStateDir, statePaths } from '../../../cluster/state/state-dir.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const paths = statePaths(temporaryFolder('control'), 'lab')
createStateDir(paths)
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** A supervisor that answers each line with what the test says. */
async function supervisor(answer: (socket: Socket, asked: { id: number; method: string }) => void) {
  const server = createServer((socket) => {
    socket.on('data', (line) => answer(socket, JSON.parse(line.toString()) as never))
    socket.on('error', () => {}) // the client has gone
  })
  await new Promise<void>((resolve) => server.listen(paths.socket, resolve))
  ends.push(() => new Promise((resolve) => server.close(resolve)))
}

test('a supervisor that is killed in the middle of an answer fails the call, not the process', async () => {
  await supervisor((socket, { id, method }) => {
    if (method === 'status') socket.write(`${JSON.stringify({ id, result: {} })}\n`)
    else socket.end(`{"id":${id},"resu`)
  })
  const control = await connectControl(paths)
  await expect(control.call('start', {})).rejects.toMatchObject({ kind: 'not-running' })
  await control.closed
})

test('a caller that does not speak the protocol is cut off, and the next one is answered', async () => {
  const handlers = { status: async () => ({ components: [] }) }
  const served = await serveControl(paths.socket, handlers as never)
  ends.push(() => served.close())
  for (const nonsense of ['null', '{', '7 8']) {
    const socket = createConnection(paths.socket).on('error', () => {})
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(`${nonsense}\n`)
    await closed
  }
  const control = await connectControl(paths)
  expect(await control.call('status', {})).toEqual({ components: [] })
  control.close()
  await control.closed
})
