/** What the issuer of service accounts publishes for verifiers elsewhere: where, to whom and as what. */
import { expect, it } from 'vitest'
import { user } from '../../support/api-server.ts'
import { describeDialects } from '../../support/shared-server.ts'

const paths = ['/.well-known/openid-configuration', '/openid/v1/jwks'] as const

describeDialects('the documents of the issuer', (server) => {
  it('are for service accounts, with and without the slash at the end that the OpenAPI document has', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/serviceaccounts/default/token`
    const { token } = (await server().ok('POST', at, { body: { spec: { audiences: [] } } })).status
    for (const path of paths) {
      const plain = await server().request('GET', path, { as: { token } })
      expect(plain.status, plain.text).toBe(200)
      const ended = await server().request('GET', `${path}/`, { as: { token } })
      expect([ended.status, ended.text]).toEqual([200, plain.text])
      expect((await server().request('GET', `${path}//`)).status).toBe(404)
      for (const as of [user('jane'), 'anonymous'] as const) {
        expect((await server().request('GET', path, { as })).status).toBe(403)
        expect((await server().request('GET', `${path}/`, { as })).status).toBe(403)
      }
    }
  })

  it('are good for an hour, and the keys have a media type of their own', async () => {
    const [configuration, keys] = await Promise.all(
      paths.map(async (path) => await server().request('GET', path)),
    )
    for (const reply of [configuration, keys]) {
      expect(reply?.headers['cache-control']).toBe('public, max-age=3600')
    }
    expect(configuration?.headers['content-type']).toBe('application/json')
    expect(keys?.headers['content-type']).toBe('application/jwk-set+json')
    expect(JSON.parse(keys?.text ?? '')).toMatchObject({ keys: [{ use: 'sig' }] })
    expect(configuration?.body.jwks_uri).toContain('/openid/v1/jwks')
  })
})
