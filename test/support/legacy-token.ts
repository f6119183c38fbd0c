/** Tokens that live in Secrets, for tests without a controller manager. */
import {
  parseSigningKey,
  signClaims,
} from '../../components/api-server/authn/service-account-keys.ts'
import type { TestApiServer } from './api-server.ts'

/** Makes an account with a token kept in a Secret, as the controller manager does. */
export async function legacyToken(server: TestApiServer, namespace: string): Promise<string> {
  const domain = server.dialect.labelDomain
  const { uid } = (
    await server.ok('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
      body: { metadata: { name: 'robot' } },
    })
  ).metadata as { uid: string }
  const claim = (name: string): string => `${domain}/serviceaccount/${name}`
  const token = signClaims(
    {
      iss: `${server.dialect.name}/serviceaccount`,
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
