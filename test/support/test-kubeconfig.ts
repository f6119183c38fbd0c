/** A kubeconfig for a client program that a test starts against a server of this process. */
import { writeFileSync } from 'node:fs'
import type { Identity } from './api-client.ts'
import type { TestApiServer } from './api-server.ts'

/** Writes the file at that path: the server's address and authority, and a client certificate of that identity. */
export function writeKubeconfig(path: string, server: TestApiServer, as: Identity): void {
  const credential = server.credential(as)
  const data = (text = '') => Buffer.from(text).toString('base64')
  const cluster = {
    server: `https://127.0.0.1:${server.port}`,
    'certificate-authority-data': data(server.pki.authority.certificatePem),
  }
  const user = {
    'client-certificate-data': data(credential?.certificatePem),
    'client-key-data': data(credential?.privateKeyPem),
  }
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  )
}
