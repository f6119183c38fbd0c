/**
 * Discovery: how a node that has only a bootstrap token (and perhaps a pin) finds out whom to trust: the public cluster
 * information, fetched from a server not trusted yet, is checked with the token and the pin. Pure but for `discover`.
 */
import { createHash, createHmac, timingSafeEqual, X509Certificate } from 'node:crypto'
import { splitCertificates } from '../../../certs/pem.ts'
import { ConnectionError } from '../../client/connection-error.ts'
import { parseKubeconfig } from '../../client/kubeconfig.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { JoinError } from './join-progress.ts'
import type { ReportJoin } from './join-progress.ts'

export interface BootstrapToken {
  readonly id: string
  readonly secret: string
  /** `id.secret` */
  readonly text: string
}

/** Undefined when the text is no bootstrap token. */
export function parseBootstrapToken(text: string): BootstrapToken | undefined {
  const [, id, secret] = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(text) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret, text }
}

/** Data of the ConfigMap `cluster-info`. */
export type ClusterInfo = Readonly<Record<string, string>>

export interface TrustedCluster {
  /** The server's address as the cluster states it. */
  readonly server: string
  /** PEM of the authorities to trust. */
  readonly ca: string
  /** The name that the server's certificate must hold; absent: the host of its address. */
  readonly serverName?: string | undefined
}

/** Checks the detached JWS (HS256 with the whole token) over the `kubeconfig` payload; throws a JoinError. */
export function verifySignature(info: ClusterInfo, token: BootstrapToken): string {
  const { kubeconfig } = info
  if (kubeconfig === undefined || kubeconfig === '') {
    throw new JoinError('signature', 'the cluster information has no kubeconfig', {
      hint: 'the ConfigMap cluster-info in the public namespace must hold the key "kubeconfig"',
      isTransient: true,
    })
  }
  const jws = info[`jws-kubeconfig-${token.id}`]
  if (jws === undefined) {
    throw new JoinError(
      'signature',
      `the cluster information is not signed with token "${token.id}": the token is unknown, ` +
        'expired, or not meant for signing',
      {
        hint: 'make a new token (usages authentication and signing); the bootstrapsigner controller must run',
        isTransient: true,
      },
    )
  }
  const [header = '', payload = '', signature = '', ...rest] = jws.split('.')
  const signed = `${header}.${Buffer.from(kubeconfig).toString('base64url')}`
  const expected = createHmac('sha256', token.text).update(signed).digest()
  const given = Buffer.from(signature, 'base64url')
  const holds =
    payload === '' &&
    rest.length === 0 &&
    isHs256(header) &&
    given.length === expected.length &&
    timingSafeEqual(given, expected)
  if (!holds) {
    throw new JoinError(
      'signature',
      `the signature of the cluster information does not fit token "${token.id}": the token's ` +
        'secret is wrong, or somebody else answers at this address',
      {
        hint: 'compare the token with the one the cluster issued, and the address with its server',
      },
    )
  }
  return kubeconfig
}

function isHs256(header: string): boolean {
  try {
    const parsed = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg?: unknown }
    return parsed.alg === 'HS256'
  } catch {
    // Not JSON: not a header that says HS256.
    return false
  }
}

/** The pin of a certificate: SHA-256 of its SubjectPublicKeyInfo, as `sha256:<hex>`. */
export function pinOf(certificatePem: string): string {
  const key = new X509Certificate(certificatePem).publicKey.export({ type: 'spki', format: 'der' })
  return `sha256:${createHash('sha256').update(key).digest('hex')}`
}

/** Takes the authority from the kubeconfig; with pins, at least one of its certificates must have one of them. */
export async function trustedCluster(
  kubeconfig: string,
  pins: readonly string[],
): Promise<TrustedCluster> {
  const config = await parseKubeconfig(kubeconfig)
  const cluster = config.clusters[0]?.cluster
  const ca = Buffer.from(cluster?.['certificate-authority-data'] ?? '', 'base64').toString()
  const certificates = splitCertificates(ca)
  if (cluster === undefined || certificates.length === 0) {
    throw new JoinError('pin', 'the cluster information names no certificate authority', {
      hint: 'its kubeconfig must have one cluster with certificate-authority-data',
      isTransient: true,
    })
  }
  const found = certificates.map(pinOf)
  const wanted = pins.map((pin) => pin.toLowerCase())
  if (wanted.length > 0 && !found.some((pin) => wanted.includes(pin))) {
    throw new JoinError(
      'pin',
      `the cluster's authority has the hash ${found.join(', ')}, which is not the one given`,
      {
        hint: 'check --discovery-token-ca-cert-hash; if it is right, somebody else answers at this address',
      },
    )
  }
  return { server: cluster.server, ca }
}

/** Fetches the data of cluster-info, anonymously; `ca` undefined means without knowing the server. */
export type FetchClusterInfo = (ca: string | undefined) => Promise<ClusterInfo>

function fetchFailure(error: unknown, server: string): unknown {
  if (error instanceof ConnectionError) {
    const isUntrusted = error.code === 'untrusted'
    return new JoinError(
      isUntrusted ? 'trust' : 'discovery',
      isUntrusted
        ? `${server} does not show a certificate of the cluster's authority: ${error.message}`
        : `${server} cannot be reached: ${error.message}`,
      isUntrusted
        ? { hint: `is ${server} an address of this cluster, and in its certificate?`, cause: error }
        : {
            hint: 'check the address, and that the API server runs',
            isTransient: true,
            cause: error,
          },
    )
  }
  if (isStatusError(error, 'NotFound')) {
    return new JoinError('discovery', 'the cluster publishes no information for joining nodes', {
      hint: 'the ConfigMap cluster-info must be in the public namespace (bootstrapsigner controller)',
      isTransient: true,
      cause: error,
    })
  }
  if (isStatusError(error, 'Forbidden', 'Unauthorized')) {
    return new JoinError('discovery', 'the server does not let strangers read cluster-info', {
      hint: 'anonymous requests and the role for cluster-info in the public namespace are needed',
      isTransient: true,
      cause: error,
    })
  }
  return error
}

/** All of discovery; throws a JoinError that names the step that failed. */
export async function discover(options: {
  server: string
  token: BootstrapToken
  pins: readonly string[]
  fetchInfo: FetchClusterInfo
  report: ReportJoin
}): Promise<TrustedCluster> {
  const { server, token, pins, fetchInfo, report } = options
  const fetchOr = async (ca: string | undefined): Promise<ClusterInfo> => {
    try {
      return await fetchInfo(ca)
    } catch (error) {
      throw fetchFailure(error, server)
    }
  }
  report({ step: 'discovery', state: 'running', reason: `asking ${server}` })
  const info = await fetchOr(undefined)
  report({ step: 'discovery', state: 'done' })
  const kubeconfig = verifySignature(info, token)
  report({ step: 'signature', state: 'done' })
  const cluster = await trustedCluster(kubeconfig, pins)
  const unpinned = 'no pin was given: the authority is trusted because the token signed for it'
  report({ step: 'pin', state: 'done', ...(pins.length === 0 ? { reason: unpinned } : {}) })
  // The first answer could have come through a stranger; the same one must come from a server of this authority.
  verifySignature(await fetchOr(cluster.ca), token)
  report({ step: 'trust', state: 'done' })
  return cluster
}
