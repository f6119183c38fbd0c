/** Fetching: how a further machine finds out whom to trust, and gets what it needs, with a token, a CA pin and a certificate key. */
import { createHash, X509Certificate } from 'node:crypto'
import { splitCertificates } from '../../certs/pem.ts'
import { BACKDATE_MS } from '../../certs/authority.ts'
import { dialects } from '../../components/api/dialect.ts'
import type { Dialect } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createClient } from '../../components/client/client.ts'
import type { Client, ClientOptions } from '../../components/client/client.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import { parseKubeconfig } from '../../components/client/kubeconfig.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { resourcePath } from '../../components/machinery/objects/resource.ts'
import { humanDuration } from '../../components/machinery/values/duration.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { ClusterError } from '../cluster-error.ts'
import { formatToken } from '../plan/bootstrap-token.ts'
import type { BootstrapToken } from '../plan/bootstrap-token.ts'
import { opened } from './certificate-key.ts'
import type { SharedFiles } from './shared-files.ts'
import { certificatesSecret } from './upload-certificates.ts'

/** How a machine joins a control plane. */
export interface ControlPlaneJoin {
  /** URL of an API server of the cluster, or of its load balancer. */
  readonly server: string
  readonly token: BootstrapToken
  /** `sha256:<hex>` of the cluster CA's public key. */
  readonly caHash: string
  readonly certificateKey: Buffer
}

const answerWithinMs = 15_000

async function asking<T>(
  options: Omit<ClientOptions, 'timeoutMs'>,
  ask: (client: Client) => Promise<T>,
): Promise<T> {
  const client = createClient({ ...options, timeoutMs: answerWithinMs })
  try {
    return await ask(client)
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error
    throw new ClusterError('failed', `cannot reach the control plane: ${error.message}`, {
      hint: 'check --control-plane: the address and port that nodes join',
      cause: error,
    })
  } finally {
    client.close()
  }
}

function dataOf(object: KubeObject): Readonly<Record<string, string>> {
  return (object['data'] ?? {}) as Record<string, string>
}

function pinOf(pem: string): string {
  const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' })
  return `sha256:${createHash('sha256').update(key).digest('hex')}`
}

/** Certificates that are made here, or there, are invalid on a machine whose clock differs by more. */
const mostDifferenceMs = BACKDATE_MS

/** Throws a ClusterError when the clock of this machine and the `Date` of an answer are too far apart. */
export function checkClock(date: string | undefined, nowMs: number): void {
  const differenceMs = nowMs - Date.parse(date ?? '')
  // A server need not say what time it is.
  if (Number.isNaN(differenceMs) || Math.abs(differenceMs) <= mostDifferenceMs) return
  const way = differenceMs > 0 ? 'ahead of' : 'behind'
  const far = humanDuration(Math.abs(differenceMs))
  throw new ClusterError(
    'failed',
    `the clock of this machine is ${far} ${way} that of the control plane`,
    {
      hint: 'set the clocks of both machines: certificates made on one would be invalid on the other',
    },
  )
}

/** The CA that the server names in cluster-info, if it is the pinned one. The token is not sent before. */
async function trustedCa(
  { server, caHash }: ControlPlaneJoin,
  around: { readonly dialect: Dialect; readonly clock: Clock },
): Promise<string> {
  const { dialect } = around
  const where = { namespace: dialect.publicNamespace, name: 'cluster-info' }
  const info = await asking({ ...around, server, insecureSkipVerify: true }, async ({ rest }) => {
    const path = resourcePath(resourcesOf(dialect).configMaps, where)
    const { headers, body } = await rest.bytes({ method: 'GET', path })
    checkClock(headers.date, around.clock.now())
    return JSON.parse(body.toString()) as KubeObject
  })
  const { clusters } = await parseKubeconfig(dataOf(info)['kubeconfig'] ?? '')
  const encoded = clusters[0]?.cluster['certificate-authority-data'] ?? ''
  const ca = splitCertificates(Buffer.from(encoded, 'base64').toString()).find(
    (pem) => pinOf(pem) === caHash,
  )
  if (ca !== undefined) return ca
  throw new ClusterError('failed', `the CA of ${server} is not the pinned one`, {
    hint: 'check --discovery-token-ca-cert-hash; if it is right, another server answers at this address',
  })
}

/** The shared files of the cluster. Rejects with a ClusterError that says which of address, pin, token and key is wrong. */
export async function fetchCertificates(
  join: ControlPlaneJoin,
  clock: Clock,
  dialect = dialects.kubernetes,
): Promise<SharedFiles> {
  const { server, token, certificateKey } = join
  const ca = await trustedCa(join, { dialect, clock })
  const credentials = { token: formatToken(token) }
  const where = { namespace: dialect.systemNamespace, name: certificatesSecret }
  const secret = await asking({ dialect, clock, server, ca, credentials }, (client) =>
    client.resource(resourcesOf(dialect).secrets).get(where),
  ).catch((error: unknown): never => {
    if (!isStatusError(error, 'Unauthorized', 'Forbidden', 'NotFound')) throw error
    throw new ClusterError('failed', `token "${token.id}" cannot read the certificates`, {
      details: [error.message],
      hint: 'make a token for this on the cluster: skiff token create --control-plane',
      cause: error,
    })
  })
  const texts = Object.entries(dataOf(secret)).map(([name, encoded]) => {
    return [name, opened(Buffer.from(encoded, 'base64'), name, certificateKey)] as const
  })
  return Object.fromEntries(texts)
}
