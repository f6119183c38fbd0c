/** --service-account-lookup on a running server: whether a token kept in a Secret outlives the Secret and the account. */
import { describe, expect, it } from 'vitest'
import {
  parseSigningKey,
  signClaims,
} from '../../../components/api-server/authn/service-account-keys.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'

/** Makes an account with a token kept in a Secret, as the controller manager does. */
async function legacyToken(server: TestApiServer, namespace: string): Promise<string> {
  const domain = server.dialect.labelDomain
  const { uid } = (
    await server.ok('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
      body: { metadata: { name: 'robot' } },
    })
  ).metadata as { uid: string }
  const claim = (name: string): string => `${domain}/serviceaccount/${name}`
  const token = await signClaims(
    {
      iss: 'kubernetes/serviceaccount',
      sub: `system:serviceaccount:${namespace}:robot`,
      [claim('namespace')]: namespace,
      [claim('secret.name')]: 'robot-token',
      [claim('service-account.name')]: 'robot',
      [claim('service-account.uid')]: uid,
    },
    parseSigningKey(server.pki.serviceAccountKey.privateKeyPem),
  )
  await server.ok('POST', `/api/v1/namespaces/${namespace}/secrets`, {
    body: {
      metadata: {
        name: 'robot-token',
        annotations: {
          [`${domain}/service-account.name`]: 'robot',
          [`${domain}/service-account.uid`]: uid,
        },
      },
      type: `${domain}/service-account-token`,
      stringData: { token },
    },
  })
  return token
}

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
