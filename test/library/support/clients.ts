/** Clients of the library for a test's API server. */
import { systemClock } from '../../../components/component-base/clock.ts'
import { createObjectClient } from '../../../library/object-client.ts'
import type { ObjectClient } from '../../../library/types.ts'
import { admin, type Identity, type TestApiServer } from '../../support/api-server.ts'

export function clientOf(server: TestApiServer, as: Identity = admin): ObjectClient {
  const credential = server.credential(as)
  return createObjectClient({
    server: `https://127.0.0.1:${server.port}`,
    ca: server.pki.authority.certificatePem,
    credentials: credential && { cert: credential.certificatePem, key: credential.privateKeyPem },
    dialect: server.dialect,
    clock: systemClock,
  })
}
