import http2 from 'node:http2'
import { expect, it } from 'vitest'
import { admin, user } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { allow } from '../../support/grants.ts'
import { describeDialects } from '../../support/shared-server.ts'

const flags = ['--enable-priority-and-fairness=false', '--max-mutating-requests-inflight=1']

describeDialects('as many requests at once as the server takes', tests, { flags })

function tests(server: Parameters<Parameters<typeof describeDialects>[1]>[0]): void {
  it('refuse others, but not administrators, and nobody who is unknown counts', async () => {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/configmaps`
    const writer = await allow(server(), ns, {
      name: 'slow',
      rules: [{ resources: ['configmaps'], verbs: ['create', 'list'] }],
    })
    const shown = server().credential(writer)
    const session = http2.connect(`https://127.0.0.1:${server().port}`, {
      ca: server().pki.authority.certificatePem,
      cert: shown?.certificatePem,
      key: shown?.privateKeyPem,
    })
    session.on('error', () => {
      // Told by the request that fails.
    })
    // A request whose body does not come is in flight until then.
    const slow = session.request({
      ':method': 'POST',
      ':path': at,
      'content-type': 'application/json',
    })
    slow.resume()
    const answered = new Promise<unknown>((resolve, reject) => {
      slow.on('response', (headers) => resolve(headers[':status']))
      slow.on('error', reject)
    })
    slow.write('{"metadata":')
    let made = 0
    const create = async (as: Parameters<ReturnType<typeof server>['request']>[2]) => {
      made += 1
      const body = { metadata: { name: `made-${made}` } }
      return await server().request('POST', at, { ...as, body })
    }
    await eventually(async () => {
      const answer = await create({ as: writer })
      expect([answer.status, answer.headers['retry-after']]).toEqual([429, '1'])
    })
    expect((await create({ as: { token: 'nonsense' } })).status).toBe(401)
    expect((await create({ as: admin })).status).toBe(201)
    expect((await create({ as: admin, headers: { 'impersonate-user': 'jane' } })).status).toBe(429)
    expect((await server().request('GET', at, { as: user('slow') })).status).toBe(200)
    slow.end('{"name":"at-last"}}')
    expect(await answered).toBe(201)
    session.close()
    await eventually(async () => expect((await create({ as: writer })).status).toBe(201))
  })
}
