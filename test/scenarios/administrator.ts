/** A client of a test's API server, as scenarios take the administrator's. */
import { dialects } from '../../components/api/dialect.ts'
import { createClient, type Client } from '../../components/client/client.ts'
import type { TestApiServer } from '../support/api-server.ts'

/** The caller closes it. */
export function administratorOf(server: TestApiServer): Client {
  const shown = server.credential({ user: 'operator', groups: ['system:masters'] })
  return createClient({
    server: `https://127.0.0.1:${server.port}`,
    ca: server.pki.authority.certificatePem,
    credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
    dialect: dialects.kubernetes,
  })
}
