/** AgentServer: the listener of the process and its certificate. */
import type { CertificateSigningRequest } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Files } from '../../component-base/files.ts'
import type { HttpsServer } from '../../component-base/https-server.ts'
import { createHttpsServer } from '../../component-base/https-server.ts'
import type { Log } from '../../component-base/log.ts'
import type { Suspension } from '../../component-base/suspension.ts'
import type { UnderWay } from '../../component-base/under-way.ts'
import type { IssuedCertificate } from '../join/certificate-request.ts'
import { requestCertificate } from '../join/certificate-request.ts'
import {
  isCurrent,
  readNodeCredential,
  serverCredentialFile,
  writeNodeCredential,
} from '../join/node-credential.ts'
import { runRotation } from '../join/rotate-certificate.ts'
import type { ServedNode } from './server.ts'
import { createNodeServer } from './server.ts'
import { createStreamServer, isStreamRequest } from '../streaming/stream-server.ts'
import type { ServingNames } from '../join/serving-certificate.ts'
import { selfSignedServing, servingWish } from '../join/serving-certificate.ts'

export interface AgentServerOptions {
  readonly host: string
  readonly port: number
  readonly names: ServingNames
  /** Paths of a pair that is given; it is never renewed here. */
  readonly pair: { readonly cert: string; readonly key: string } | undefined
  /** Have the cluster sign the certificate. */
  readonly isSigned: boolean
  readonly certDir: string
  readonly files: Files
  readonly drainMs: number | undefined
  readonly suspension: Suspension | undefined
  readonly underWay: UnderWay | undefined
  readonly nodes: () => readonly ServedNode[]
  readonly servesCheckpoints: boolean
  readonly clock: Clock
  readonly log: Log
}

export interface AgentServer {
  readonly server: HttpsServer
  /** Asks for signed certificates in time, as the node of this client; returns at once when that is not wanted. */
  rotate(client: Client, signal: AbortSignal): Promise<void>
}

/** The listener with the best certificate there is at the start. */
export async function createAgentServer(options: AgentServerOptions): Promise<AgentServer> {
  const { host, port, names, pair, isSigned, certDir, files, drainMs, clock, log } = options
  let signed: IssuedCertificate | undefined
  if (isSigned && pair === undefined) {
    const stored = await readNodeCredential(certDir, serverCredentialFile, options.files)
    if (stored !== undefined && isCurrent(stored, clock.now())) signed = stored
  }
  const initial =
    pair === undefined
      ? (signed ?? selfSignedServing(names, clock.now()))
      : { cert: await files.read(pair.cert), key: await files.read(pair.key) }
  const server = createHttpsServer({
    host,
    port,
    tls: initial,
    handler: createNodeServer({
      nodes: options.nodes,
      servesCheckpoints: options.servesCheckpoints,
      clock,
      log,
    }),
    mayUpgrade: isStreamRequest,
    upgrade: createStreamServer({ nodes: options.nodes, clock, log }),
    ...(drainMs === undefined ? {} : { limits: { drainMs } }),
    suspension: options.suspension,
    underWay: options.underWay,
    log,
  })

  return {
    server,
    async rotate(client, signal) {
      if (!isSigned || pair !== undefined) return
      const csrs = client.resource<CertificateSigningRequest>(
        resourcesOf(client.dialect).certificateSigningRequests,
      )
      await runRotation(
        {
          current: signed,
          request: (until) =>
            requestCertificate(
              { csrs, wish: servingWish(client.dialect, names), clock, log },
              until,
            ),
          onRotated: async (next) => {
            await writeNodeCredential(certDir, serverCredentialFile, next, files)
            server.setCertificate(next)
          },
          clock,
          log,
        },
        signal,
      )
    },
  }
}
