/** How a server ends while clients use it, and how connections spread over servers. */
import http2 from 'node:http2'
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { OpenWatches } from '../../../components/api-server/handlers/open-watches.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

async function readiness(server: TestApiServer): Promise<number> {
  return (await server.request('GET', '/readyz')).status
}

test('a server that ends is not ready at once, serves for the delay, and then closes its port', async () => {
  const clock = new FakeClock(Date.now())
  await using server = await startApiServer({ clock, flags: ['--shutdown-delay-duration=30s'] })
  const watch = await server.watch('/api/v1/namespaces?watch=1')
  expect(await readiness(server)).toBe(200)
  const ended = server.terminate()
  await eventually(async () => expect(await readiness(server)).toBe(500))
  const body = { metadata: { name: 'during-the-delay' } }
  expect((await server.request('POST', '/api/v1/namespaces', { body })).status).toBe(201)
  expect(await isListening(server.port)).toBe(true)
  const { port } = server
  await clock.step(30_000)
  await watch.ended
  await ended
  expect(await isListening(port)).toBe(false)
  expect(server.faults).toEqual([])
})

test('with --shutdown-send-retry-after new requests get 429 until those in flight are answered', async () => {
  await using server = await startApiServer({ flags: ['--shutdown-send-retry-after'] })
  const session = http2.connect(`https://127.0.0.1:${server.port}`, {
    ca: server.pki.authority.certificatePem,
    ...clientOf(server),
  })
  await once(session, 'connect')
  const slow = session.request({
    ':method': 'POST',
    ':path': '/api/v1/namespaces',
    'content-type': 'application/json',
  })
  slow.write('{"metadata":')
  // The server has it once it has answered what was sent later over the same connection.
  const later = session.request({ ':path': '/readyz' })
  later.resume()
  await once(later, 'response')
  const ended = server.terminate()
  const refused = await eventually(async () => {
    const reply = await server.request('GET', '/api/v1/namespaces')
    expect(reply.status).toBe(429)
    return reply
  })
  expect(refused.headers['retry-after']).toBe('5')
  expect(refused.text).toContain('The apiserver is shutting down')
  expect(await readiness(server)).toBe(500)
  slow.end('{"name":"in-flight"}}')
  const [headers] = (await once(slow, 'response')) as [http2.IncomingHttpHeaders]
  expect(headers[':status']).toBe(201)
  slow.resume()
  await ended
  session.destroy()
  expect(server.faults).toEqual([])
})

function clientOf(server: TestApiServer) {
  const credential = server.credential({ user: 'admin', groups: ['system:masters'] })
  return { cert: credential?.certificatePem, key: credential?.privateKeyPem }
}

test('watches end one after another over four fifths of the grace period', async () => {
  const clock = new FakeClock()
  const watches = new OpenWatches()
  let open = 80
  for (let count = 0; count < 80; count += 1) watches.add(() => (open -= 1))
  const all = watches.endAll(1000, clock)
  expect(open).toBe(70)
  expect(watches.mayBegin).toBe(false)
  await clock.step(300)
  expect(open).toBe(40)
  await clock.step(400)
  expect(open).toBe(0)
  await all
})

test('with --goaway-chance some answers end their connection, and what is open on it goes on', async () => {
  await using server = await startApiServer({ flags: ['--goaway-chance=0.02'] })
  const session = http2.connect(`https://127.0.0.1:${server.port}`, {
    ca: server.pki.authority.certificatePem,
    ...clientOf(server),
  })
  await once(session, 'connect')
  const goaway = once(session, 'goaway')
  const watch = session.request({ ':path': '/api/v1/namespaces?watch=1' })
  watch.resume()
  await once(watch, 'response')
  for (let asked = 0; asked < 5000 && !session.closed; asked += 1) {
    const stream = session.request({ ':path': '/version' })
    stream.resume()
    const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    expect(headers[':status']).toBe(200)
    expect(headers['connection']).toBeUndefined()
    await once(stream, 'close')
  }
  await goaway
  expect(watch.closed).toBe(false)
  watch.close()
  await once(session, 'close')
})

test('a greater chance is refused', async () => {
  await expect(startApiServer({ flags: ['--goaway-chance=0.5'] })).rejects.toThrow(
    '--goaway-chance=0.5 is invalid: it must be at most 0.02',
  )
})
