/** Calls to servers outside of the cluster: what becomes of their connections. */
import { createServer } from 'node:https'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { createHttpsCaller } from '../../../components/api-server/egress/https-call.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { createTestPki } from '../../support/tls.ts'

const pki = createTestPki()

/** A caller, and a server that holds its answers back. */
async function setUp() {
  const held: ServerResponse[] = []
  const server = createServer(pki.server, (_, response) => void held.push(response))
  // It is not the server who closes.
  server.keepAliveTimeout = 0
  await promisify<number, string>(server.listen.bind(server))(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const options = { ca: pki.caPem, timeoutMs: 1000, maxBytes: 1000 }
  const caller = createHttpsCaller({ clock: new FakeClock(), ...options })
  return {
    caller,
    held,
    call: () => caller.call({ url: `https://127.0.0.1:${port}/` }),
    connections: promisify(server.getConnections.bind(server)),
    /** Resolves with the answer of the next call that is held back. */
    async release(): Promise<void> {
      await eventually(() => expect(held).not.toEqual([]))
      held.shift()?.end('answer')
    },
  }
}

test('connections are kept, and closed at once when the caller is not needed any more', async () => {
  const { caller, call, connections, release } = await setUp()
  for (let round = 0; round < 2; round += 1) {
    const answer = call()
    await release()
    expect((await answer).body.toString()).toBe('answer')
  }
  expect(await connections()).toBe(1)
  caller.close()
  await eventually(async () => expect(await connections()).toBe(0))
})

test('a call that is under way then, and one that comes later, ends first', async () => {
  const { caller, call, connections, held, release } = await setUp()
  const answers = [call(), call()]
  await eventually(() => expect(held).toHaveLength(2))
  caller.close()
  await release()
  await Promise.race(answers)
  await release()
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200)
  await eventually(async () => expect(await connections()).toBe(0))
  const late = call()
  await release()
  expect((await late).status).toBe(200)
  await eventually(async () => expect(await connections()).toBe(0))
})
