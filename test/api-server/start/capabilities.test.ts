import { expect, it } from 'vitest'
import { describeDialects } from '../../support/shared-server.ts'

describeDialects('a server as it starts', (server) => {
  it('[RES-023] offers watches, chunked lists, apply, dry-run, authentication, authorization, health and reviews', async () => {
    const namespace = await server().namespace()
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    for (const name of ['a', 'b']) await server().ok('POST', path, { body: { metadata: { name } } })
    const page = await server().ok('GET', `${path}?limit=1`)
    expect(page.items).toHaveLength(1)
    expect(
      (await server().ok('GET', `${path}?limit=1&continue=${page.metadata.continue}`)).items,
    ).toHaveLength(1)

    const watch = await server().watch(
      `${path}?watch=true&resourceVersion=${page.metadata.resourceVersion}`,
    )
    const applied = await server().ok('PATCH', `${path}/c?fieldManager=me`, {
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { k: 'v' } },
    })
    expect(applied.metadata.managedFields[0]).toMatchObject({ manager: 'me', operation: 'Apply' })
    expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'c' } } })
    watch.close()

    await server().ok('POST', `${path}?dryRun=All`, { body: { metadata: { name: 'd' } } })
    expect((await server().request('GET', `${path}/d`)).status).toBe(404)

    expect((await server().request('GET', path, { as: { token: 'junk' } })).status).toBe(401)
    expect((await server().request('GET', path, { as: { user: 'nobody' } })).status).toBe(403)
    expect((await server().request('GET', '/readyz', { as: 'anonymous' })).text).toBe('ok')
    const review = await server().ok(
      'POST',
      `/apis/${server().group('authorization')}/v1/selfsubjectaccessreviews`,
      {
        as: { user: 'nobody' },
        body: { spec: { resourceAttributes: { verb: 'get', resource: 'configmaps', namespace } } },
      },
    )
    expect(review.status.allowed).toBe(false)
  })

  it('[OIDC-026] has no path that logs anybody in or gives tokens to users', async () => {
    const { paths } = (await server().ok('GET', '/')) as { paths: string[] }
    const others = paths.filter((path) => !path.includes('/poststarthook/'))
    expect(others.filter((path) => /login|logout|authorize|callback|token/.test(path))).toEqual([])
    for (const path of [
      '/login',
      '/logout',
      '/oauth/authorize',
      '/oauth/token',
      '/oauth2/token',
      '/oidc/token',
      '/token',
      '/authorize',
      '/userinfo',
      '/dex/auth',
    ]) {
      for (const method of ['GET', 'POST']) {
        expect([path, method, (await server().request(method, path, { body: {} })).status]).toEqual(
          [path, method, 404],
        )
      }
    }
  })
})
