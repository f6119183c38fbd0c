/** A machine whose clock is wrong does not join: certificates that it makes would be invalid on the others. */
import { expect, test } from 'vitest'
import { checkClock, fetchCertificates } from '../../../cluster/control-plane/fetch-certificates.ts'
import { startApiServer } from '../../support/api-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const date = 'Sat, 28 Nov 2026 10:00:00 GMT'
const atMs = Date.parse(date)
const minuteMs = 60_000

test('clocks may differ by the five minutes that certificates are dated back, or not be known', () => {
  checkClock(date, atMs + 5 * minuteMs)
  checkClock(date, atMs - 5 * minuteMs)
  checkClock(undefined, atMs)
})

test('a clock that is further ahead or behind is an error that says by how much', () => {
  const ahead = /^the clock of this machine is 63m ahead of that of the control plane$/
  expect(() => checkClock(date, atMs + 63 * minuteMs)).toThrow(ahead)
  expect(() => checkClock(date, atMs - 3 * 24 * 60 * minuteMs)).toThrow(/ is 3d behind that of /)
})

test('a machine that is hours ahead is rejected before it sends its token', async () => {
  await using server = await startApiServer({
    flags: ['--authorization-mode=AlwaysAllow', '--anonymous-auth=true'],
  })
  const info = { metadata: { name: 'cluster-info' }, data: {} }
  await server.ok('POST', '/api/v1/namespaces/kube-public/configmaps', { body: info })
  const join = {
    server: `https://127.0.0.1:${server.port}`,
    token: { id: 'abcdef', secret: '0123456789abcdef' },
    caHash: `sha256:${'0'.repeat(64)}`,
    certificateKey: Buffer.alloc(32),
  }
  const clock = new FakeClock(Date.now() + 5.5 * 60 * minuteMs)
  await expect(fetchCertificates(join, clock)).rejects.toThrow(
    /^the clock of this machine is 5h\d+m ahead of /,
  )
})
