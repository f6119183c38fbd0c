/** NodeIdentity: the client certificate and server address of a node: from its files, or by joining. */
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import {
  connectionFrom,
  createKubeconfig,
  readKubeconfig,
  writeKubeconfig,
} from '../../client/kubeconfig.ts'
import type { Credentials } from '../../client/rest-client.ts'
import { StartError } from '../../component-base/component.ts'
import type { Files } from '../../component-base/files.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { nodeSubject } from '../../../certs/profiles.ts'
import type { Bootstrapper } from './bootstrap.ts'
import type { IssuedCertificate } from './certificate-request.ts'
import type { ReportJoin } from './join-progress.ts'
import type { TrustedCluster } from './discovery.ts'
import {
  clientCredentialFile,
  isCurrent,
  readNodeCredential,
  splitCredential,
  writeNodeCredential,
} from './node-credential.ts'

export interface NodeIdentity {
  readonly server: string
  /** PEM of the authorities that the server's certificate must come from. */
  readonly ca: string
  /** The name that the server's certificate must hold; undefined: the host of its address. */
  readonly serverName: string | undefined
  readonly credentials: Credentials
  /** Set when the credential is a certificate that the agent can renew. */
  readonly certificate: IssuedCertificate | undefined
}

/** Where a node keeps its identity. */
interface NodePlace {
  readonly nodeName: string
  readonly kubeconfig: string
  readonly certDir: string
  readonly files: Files
}

export interface IdentityOptions extends NodePlace {
  /** Beats the server in the kubeconfig. */
  readonly server: string | undefined
  /** Undefined when nothing was given to join with. */
  readonly bootstrapper: Bootstrapper | undefined
  readonly clock: Clock
  readonly log: Log
  readonly report: ReportJoin
}

function isMissing(error: unknown): boolean {
  const { cause } = error as { cause?: NodeJS.ErrnoException }
  return cause?.code === 'ENOENT'
}

/** The identity in the files; undefined for missing, damaged or expired files and for another node's. */
async function storedIdentity(options: IdentityOptions): Promise<NodeIdentity | undefined> {
  const { nodeName, kubeconfig, certDir, files, clock, log } = options
  let connection
  try {
    connection = await connectionFrom(await readKubeconfig(kubeconfig, files), { files })
  } catch (error) {
    if (isMissing(error)) return undefined
    if (options.bootstrapper === undefined) throw error
    log.warn('the stored kubeconfig is not usable', { kubeconfig, error })
    return undefined
  }
  const own = await readNodeCredential(certDir, clientCredentialFile, files)
  const { ca, credentials = {} } = connection
  const given = [credentials.cert, credentials.key].map((part) => part?.toString() ?? '')
  const certificate = own ?? splitCredential(given.join('\n'))
  const found = {
    server: options.server ?? connection.server,
    ca: ca?.toString() ?? '',
    serverName: connection.serverName,
    credentials: certificate ?? credentials,
    certificate,
  }
  if (certificate === undefined) {
    if (credentials.cert === undefined) return found
    log.warn('the stored certificate or its key is damaged; it is not used', { kubeconfig })
    return undefined
  }
  const { commonName } = nodeSubject(nodeName)
  const { subject } = new X509Certificate(certificate.cert)
  if (!subject.split('\n').includes(`CN=${commonName}`)) {
    log.warn('the stored certificate belongs to another node; it is not used', { subject })
    return undefined
  }
  if (isCurrent(certificate, clock.now())) return found
  log.warn('the stored certificate is out of its time; it is not used', {
    validTo: new X509Certificate(certificate.cert).validTo,
  })
  return undefined
}

/** Writes the kubeconfig; it names the file of the node's credential, so it holds for all renewals. */
export async function writeNodeKubeconfig(
  { nodeName, kubeconfig, certDir, files }: NodePlace,
  cluster: TrustedCluster,
): Promise<void> {
  const path = join(certDir, clientCredentialFile)
  const config = createKubeconfig({
    cluster: 'default-cluster',
    server: cluster.server,
    ca: cluster.ca,
    serverName: cluster.serverName,
    user: `system:node:${nodeName}`,
    credentials: { certFile: path, keyFile: path },
  })
  // JSON is YAML too, and needs no package.
  await writeKubeconfig(kubeconfig, config, { style: 'json', files })
}

/** The node's identity: the stored one if it is good, else a new one by joining. Rejects with a JoinError or StartError. */
export async function establishIdentity(
  options: IdentityOptions,
  signal: AbortSignal,
): Promise<NodeIdentity> {
  const { bootstrapper, nodeName, report } = options
  const stored = await storedIdentity(options)
  if (stored !== undefined) return stored
  if (bootstrapper === undefined) {
    throw new StartError(
      `no usable credentials in ${options.kubeconfig}: give --kubeconfig, or --server and ` +
        '--bootstrap-token (or --bootstrap-kubeconfig) to join',
    )
  }
  const joined = await bootstrapper.join({ nodeName, report }, signal)
  await writeNodeCredential(options.certDir, clientCredentialFile, joined, options.files)
  await writeNodeKubeconfig(options, joined.cluster)
  report({
    step: 'certificate',
    state: 'done',
    reason: join(options.certDir, clientCredentialFile),
  })
  const pair = { cert: joined.cert, key: joined.key }
  const { server, ca, serverName } = joined.cluster
  return { server: options.server ?? server, ca, serverName, credentials: pair, certificate: pair }
}
