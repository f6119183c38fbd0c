/** A node agent's listener that tells what it was asked: for requests the API server passes on. */
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { issue, type Pki } from '../../certs/pki.ts'
import { servingProfile } from '../../certs/profiles.ts'

export interface FakeNodeAgent extends AsyncDisposable {
  readonly port: number
  /** `GET /containerLogs/...` in order. */
  readonly requests: readonly string[]
  /** A Node object whose agent this is. */
  node(name: string): { metadata: { name: string }; status: object }
}

/** Answers every request with its method and path as text. */
export async function startFakeNodeAgent(pki: Pki): Promise<FakeNodeAgent> {
  const requests: string[] = []
  const serving = issue(pki.authority, {
    profile: servingProfile({
      subject: { commonName: 'system:node:fake', organizations: ['system:nodes'] },
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1'],
    }),
    nowMs: Date.now(),
  })
  const server = createServer(
    { cert: serving.certificatePem, key: serving.privateKeyPem },
    (request, response) => {
      const line = `${request.method ?? ''} ${request.url ?? ''}`
      requests.push(line)
      response.setHeader('content-type', 'text/plain')
      response.end(`${line}\n`)
    },
  )
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    requests,
    node: (name) => ({
      metadata: { name },
      status: {
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
      },
    }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
    },
  }
}
