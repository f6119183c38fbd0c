/** --service-account-lookup on a running server: whether a token kept in a Secret outlives the Secret and the account. */
import { describe, expect, it } from 'vitest'
import { startApiServer } from '../../support/api-server.ts'
import { legacyToken } from '../../support/legacy-token.ts'

describe('[AUTHN-022] a token whose Secret or account is deleted', () => {
  it.each([
    ['is revoked by default', [], 401],
    ['is revoked with the lookup on', ['--service-account-lookup=true'], 401],
    ['is accepted with the lookup off', ['--service-account-lookup=false'], 200],
  ] as const)('%s', async (_, flags, expected) => {
    await using server = await startApiServer({ flags })
    for (const gone of ['secrets/robot-token', 'serviceaccounts/robot']) {
      const namespace = await server.namespace()
      const token = await legacyToken(server, namespace)
      const status = async (): Promise<number> =>
        (await server.request('GET', '/apis', { as: { token } })).status
      expect(await status()).toBe(200)
      await server.ok('DELETE', `/api/v1/namespaces/${namespace}/${gone}`)
      expect(await status(), gone).toBe(expected)
    }
  })
})
