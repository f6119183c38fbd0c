/** Kubeconfigs for a test's API server: the administrator's, or that of a token. */
import { createKubeconfig, formatKubeconfig } from '../../components/client/kubeconfig.ts'
import { admin } from './api-client.ts'
import type { TestApiServer } from './api-server.ts'

/** With `token`, that of the token's user. */
export async function kubeconfigOf(server: TestApiServer, token?: string): Promise<string> {
  const shown = server.credential(admin)
  const config = createKubeconfig({
    cluster: 'test',
    server: `https://127.0.0.1:${server.port}`,
    ca: server.pki.authority.certificatePem,
    user: 'admin',
    credentials:
      token === undefined
        ? { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' }
        : { token },
  })
  return await formatKubeconfig(config, 'json')
}
