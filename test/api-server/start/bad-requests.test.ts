/** Paths, verbs, queries and headers that make no sense: rows ERR-003, ERR-004, ERR-007, ERR-008, ERR-011, ERR-021 and ERR-022. */
import { describe, expect, it } from 'vitest'
import { startApiServer, user } from '../../support/api-server.ts'
import { expectFault } from '../../support/expect-fault.ts'
import { allow } from '../../support/grants.ts'
import { describeDialects, sharedServer } from '../../support/shared-server.ts'

describe('requests', () => {
  const server = sharedServer()

  it('for unknown paths are not found', async () => {
    for (const path of [
      '/api/v1/frobs',
      '/api/v1/namespaces/default/frobs',
      '/api/v1/namespaces/default/pods/x/nothing',
      '/api/v1/namespaces/default/configmaps/x/status',
      '/api/v1/namespaces/default/nodes',
      '/api/v1/Pods',
      '/api/v1/watch',
      '/api/v1/watch/frobs',
      '/apis/apps/v1/frobs',
      '/apis/apps/v1/__proto__',
      '/api/v1/namespaces/default/pods/x/constructor',
    ]) {
      expectFault(await server().request('GET', path), path, 404)
    }
    for (const path of [
      '/nothing',
      '/api/v2/pods',
      '/api/v1//pods',
      '//api/v1/pods',
      '/apis/none',
      '/apis/none/v1/things',
      '/apis/apps/v9/deployments',
      '/apis/__proto__/v1/pods',
      '/openapi/v3/apis/none/v1',
      '/metrics/x',
      '/API/v1/pods',
    ]) {
      const reply = await server().request('GET', path)
      expect(reply.status, path).toBe(404)
      expect(reply.text).toBe('404 page not found\n')
    }
  })

  it('for more than a sub-resource are not found', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}`
    await server().ok('POST', `${at}/pods`, {
      body: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    })
    for (const path of [`${at}/pods/p/status/x`, `${at}/pods/p/log/x`, `${at}/status/x`]) {
      expectFault(await server().request('GET', path), path, 404)
    }
  })

  it('with methods that are not served are not allowed', async () => {
    const at = '/api/v1/namespaces/default/configmaps'
    for (const method of ['OPTIONS', 'TRACE', 'PROPFIND', 'LOCK', 'NONSENSE']) {
      for (const path of [at, `${at}/x`, '/version', '/api', '/apis/apps/v1', '/healthz']) {
        expectFault(await server().request(method, path), `${method} ${path}`, 405)
      }
    }
    for (const [method, path] of [
      ['POST', `${at}/x`],
      ['PUT', at],
      ['PATCH', at],
      ['POST', '/api/v1/pods'],
      ['GET', '/apis/apps/v1/deployments/x'],
      ['DELETE', '/api/v1/nodes/x/status'],
      ['DELETE', '/api/v1/namespaces'],
      ['POST', '/version'],
      ['DELETE', '/metrics'],
    ] as const) {
      expectFault(await server().request(method, path), `${method} ${path}`, 405)
    }
  })

  it('with names that cannot be are refused or not found', async () => {
    const at = '/api/v1/namespaces/default/configmaps'
    const broken = await server().request('GET', '/api/v1/namespaces/%zz/pods')
    expectFault(broken, 'broken escape', 400)
    for (const name of ['%00', '..', '%2e%2e', 'a%2Fb', '%F0%9F%98%80', 'A', 'x'.repeat(5000)]) {
      expectFault(await server().request('GET', `${at}/${name}`), name, 404)
      expectFault(await server().request('DELETE', `${at}/${name}`), name, 404)
      const namespaced = `/api/v1/namespaces/${name}/configmaps`
      const made = await server().request('POST', namespaced, { body: { metadata: { name: 'x' } } })
      expectFault(made, `in ${name}`)
    }
    for (const name of [
      '',
      ' ',
      'A',
      'a b',
      'a_b',
      '-a',
      'a-',
      'a..b',
      '../x',
      'x'.repeat(254),
      '\u0000',
      'ä',
      'a/b',
    ]) {
      const reply = await server().request('POST', at, { body: { metadata: { name } } })
      expectFault(reply, JSON.stringify(name), 422)
      expect(reply.body.details.causes[0].field).toBe('metadata.name')
    }
    const label = await server().request('POST', '/api/v1/namespaces', {
      body: { metadata: { name: 'x'.repeat(64) } },
    })
    expectFault(label, 'namespace of 64 characters', 422)
  })

  it('with queries that make no sense are refused', async () => {
    for (const query of [
      'limit=abc',
      'limit=1e3',
      'limit=99999999999999999999',
      'timeoutSeconds=soon',
      'resourceVersion=-1',
      'resourceVersion=1.5',
      'resourceVersion=99999999999999999999',
      'resourceVersion=abc',
      'continue=abc',
      'continue=%00',
      `continue=${'A'.repeat(10_000)}`,
      `continue=${Buffer.from('{"v":"v9","rv":1,"start":"a"}').toString('base64url')}`,
      `continue=${Buffer.from('{"v":"v1","rv":-1,"start":"a"}').toString('base64url')}`,
      `continue=${Buffer.from('{"v":"v1","rv":1}').toString('base64url')}`,
      `continue=${Buffer.from('null').toString('base64url')}`,
      'labelSelector=a%3D%3D%3Db',
      `labelSelector=${'('.repeat(5000)}`,
      'labelSelector=a%00b',
      'labelSelector=-a',
      'fieldSelector=%3D',
      'fieldSelector=metadata.labels%3Da',
      `fieldSelector=${encodeURIComponent('\\'.repeat(3000))}%3D`,
      'resourceVersionMatch=Sometimes&resourceVersion=1',
      'sendInitialEvents=true',
    ]) {
      for (const watch of ['', '&watch=1']) {
        // A watch has no pages, so it does not look at the token.
        if (watch !== '' && query.startsWith('continue')) continue
        expectFault(await server().request('GET', `/api/v1/pods?${query}${watch}`), query + watch)
      }
    }
    const many = encodeURIComponent(
      `a in (${Array.from({ length: 3000 }, (_, i) => `x${i}`).join()})`,
    )
    expect((await server().request('GET', `/api/v1/pods?labelSelector=${many}`)).status).toBe(200)
  })

  it('with impersonation that makes no sense are refused', async () => {
    for (const headers of [
      { 'impersonate-group': 'g' },
      { 'impersonate-uid': 'u' },
      { 'impersonate-extra-a': 'x' },
    ]) {
      const reply = await server().request('GET', '/api/v1/pods', { headers })
      expectFault(reply, JSON.stringify(headers), 400)
    }
  })

  it('with a watch timeout of many days do not end at once', async () => {
    const watch = await server().watch(
      '/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=100000000',
    )
    await server().ok('POST', '/api/v1/namespaces/default/configmaps', {
      body: { metadata: { name: 'still-here' } },
    })
    expect((await watch.next()).object.metadata.name).toBe('still-here')
    watch.close()
  })

  it('[ERR-003] for the next page of a version of their own are refused', async () => {
    const namespace = await server().namespace()
    const at = `/api/v1/namespaces/${namespace}/configmaps`
    for (const name of ['a', 'b', 'c']) {
      await server().ok('POST', at, { body: { metadata: { name } } })
    }
    const first = await server().ok('GET', `${at}?limit=1`)
    const version = first.metadata.resourceVersion
    const page = `${at}?limit=1&continue=${encodeURIComponent(first.metadata.continue)}`
    for (const bad of ['1', version, String(Number(version) + 1)]) {
      const { status, body } = await server().request('GET', `${page}&resourceVersion=${bad}`)
      expect(status).toBe(400)
      expect(body).toMatchObject({
        kind: 'Status',
        reason: 'BadRequest',
        message: 'specifying resource version is not allowed when using continue',
      })
    }
    for (const good of ['', '&resourceVersion=', '&resourceVersion=0']) {
      const { items } = await server().ok('GET', page + good)
      expect(items[0].metadata.name).toBe('b')
    }
  })

  it('[ERR-021][ERR-022] for a version from the future are answered 504, and say when to retry', async () => {
    const at = '/api/v1/namespaces/default/configmaps'
    for (const path of [at, `${at}/x`]) {
      const before = performance.now()
      const reply = await server().request('GET', `${path}?resourceVersion=999999999`)
      expect(performance.now() - before).toBeLessThan(20_000)
      expect(reply.status).toBe(504)
      expect(reply.body.message).toContain('Too large resource version')
      expect(reply.headers['retry-after']).toMatch(/^\d+$/)
      expect(reply.body.details.retryAfterSeconds).toBe(Number(reply.headers['retry-after']))
    }
  })
})

describeDialects('refusals', (server) => {
  it('[ERR-011] what no media type fits is 406', async () => {
    const { apiDomain } = server().dialect
    for (const accept of [
      'text/x-unknown',
      'application/json;q=0',
      `application/json;as=Frob;v=v1;g=meta.${apiDomain}`,
      `application/json;as=Table;v=v9;g=meta.${apiDomain}`,
      'application/json;as=__proto__',
      ';;;,,,',
    ]) {
      for (const [method, body] of [['GET'], ['POST', { metadata: { name: 'x' } }]] as const) {
        const reply = await server().request(method, '/api/v1/namespaces/default/configmaps', {
          headers: { accept },
          body,
        })
        expectFault(reply, `${method} as ${accept}`, 406)
      }
    }
    const mixed = 'text/html,application/xhtml+xml,*/*;q=0.8'
    const found = await server().request('GET', '/api/v1/pods', { headers: { accept: mixed } })
    expect(found.status).toBe(200)
  })

  it('[ERR-007][ERR-008] what nobody allows is 403, and says who may not do what', async () => {
    const ns = await server().namespace()
    const reader = await allow(server(), ns, {
      name: 'reader',
      rules: [{ resources: ['configmaps'], verbs: ['get'] }],
    })
    const at = `/api/v1/namespaces/${ns}/configmaps`
    const denied = await server().request('GET', at, { as: reader })
    expectFault(denied, 'list', 403)
    expect(denied.body.message).toBe(
      `configmaps is forbidden: User "reader" cannot list resource "configmaps" in API group "" in the namespace "${ns}"`,
    )
    expectFault(await server().request('GET', '/api/v1/nodes/n', { as: reader }), 'nodes', 403)
    const path = await server().request('GET', '/metrics', { as: user('nobody') })
    expectFault(path, 'path', 403)
    expect(path.body.message).toBe('forbidden: User "nobody" cannot get path "/metrics"')
    // The Node authorizer denies where RBAC has no say: a node's agent reads its own Lease only.
    const agent = user('system:node:a', 'system:nodes')
    const other = `/apis/${server().group('coordination')}/v1/namespaces/${server().dialect.nodeLeaseNamespace}/leases/b`
    expectFault(await server().request('GET', other, { as: agent }), 'lease of another node', 403)
    // Before a name is looked up: what exists is told to those who may know only.
    expectFault(await server().request('GET', `${at}/none`, { as: user('nobody') }), 'none', 403)
  })
})

describe('without credentials', () => {
  it('[ERR-004] a request is 401 where anonymous access is off, and with a bad token everywhere', async () => {
    await using closed = await startApiServer({ flags: ['--anonymous-auth=false'] })
    await using open = await startApiServer()
    const nobody = await closed.request('GET', '/api/v1/namespaces', { as: 'anonymous' })
    expectFault(nobody, 'anonymous', 401)
    expect(nobody.body.message).toBe('Unauthorized')
    expect((await open.request('GET', '/version', { as: 'anonymous' })).status).toBe(200)
    for (const server of [closed, open]) {
      for (const token of ['x', 'a.b.c', 'abcdef.0123456789abcdef', 'x'.repeat(20_000), ' ']) {
        const reply = await server.request('GET', '/version', { as: { token } })
        if (token.trim() === '' && server === open) expect(reply.status).toBe(200)
        else expectFault(reply, token.slice(0, 30), 401)
      }
    }
  })
})
