/**
 * Bootstrap: from a token to a client certificate of the node's own (upstream: TLS bootstrapping). Failures that may pass
 * are reported and tried again; those that cannot end it.
 */
import { nodeSubject } from '../../../certs/profiles.ts'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { CertificateSigningRequest, ConfigMap } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/client.ts'
import { ConnectionError } from '../../client/connection-error.ts'
import { createBackoff } from '../../component-base/backoff.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { LocalNetwork } from '../../component-base/local-network.ts'
import type { Log } from '../../component-base/log.ts'
import type { UnderWay } from '../../component-base/under-way.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { IssuedCertificate } from './certificate-request.ts'
import { RequestRefusedError, requestCertificate } from './certificate-request.ts'
import type { TrustedCluster } from './discovery.ts'
import { discover, parseBootstrapToken } from './discovery.ts'
import type { ReportJoin } from './join-progress.ts'
import { JoinError } from './join-progress.ts'

export interface BootstrapOptions {
  readonly dialect: Dialect
  readonly server: string
  readonly serverName: string | undefined
  /** `id.secret`; or any bearer token when `cluster` is known already. */
  readonly token: string
  /** `sha256:<hex>` of authorities; empty trusts what the token signed. */
  readonly pins: readonly string[]
  /** Whom to trust, when a bootstrap kubeconfig says so: discovery is then skipped. */
  readonly cluster?: TrustedCluster
  readonly network?: LocalNetwork | undefined
  readonly underWay?: UnderWay | undefined
  readonly clock: Clock
  readonly log: Log
}

/** A node on its way in. */
export interface Joining {
  readonly nodeName: string
  readonly report: ReportJoin
}

export interface JoinedNode extends IssuedCertificate {
  readonly cluster: TrustedCluster
}

/** No answer in this time counts as unreachable: the user is to know within five seconds. */
const discoveryTimeoutMs = 4000
/** A transient fault is no failure before this time: a whole cluster may be starting. */
const transientPatienceMs = 3000
/** After this time a request without approval is reported. */
const approvalPatienceMs = 3000

/** The name of upstream's signer for client certificates of nodes, in the dialect. */
export function clientSigner(dialect: Dialect): string {
  return labelKey(dialect, '', 'kube-apiserver-client-kubelet')
}

async function fetchClusterInfo(
  options: BootstrapOptions,
  ca: string | undefined,
): Promise<Readonly<Record<string, string>>> {
  const { dialect, server, serverName, network, underWay, log } = options
  const client = createClient({
    server,
    ...(serverName === undefined ? {} : { serverName }),
    dialect,
    log,
    userAgent: 'kubelet-bootstrap',
    timeoutMs: discoveryTimeoutMs,
    network,
    underWay,
    ...(ca === undefined ? { insecureSkipVerify: true } : { ca }),
  })
  try {
    const configMaps = client.resource<ConfigMap>(resourcesOf(dialect).configMaps)
    const found = await configMaps.get({ namespace: dialect.publicNamespace, name: 'cluster-info' })
    return found.data ?? {}
  } finally {
    client.close()
  }
}

async function findCluster(options: BootstrapOptions, report: ReportJoin): Promise<TrustedCluster> {
  if (options.cluster !== undefined) return options.cluster
  const token = parseBootstrapToken(options.token)
  if (token === undefined) {
    throw new JoinError('token', 'the bootstrap token is not of the form id.secret', {
      hint: 'a token is 6 characters, a dot and 16 characters, all of a-z and 0-9',
    })
  }
  const fetchInfo = (ca: string | undefined) => fetchClusterInfo(options, ca)
  const found = await discover({ ...options, token, fetchInfo, report })
  // The address that was just proven is used on; the one in the kubeconfig may be for others.
  return { server: options.server, serverName: options.serverName, ca: found.ca }
}

function requestFailure(error: unknown, server: string): unknown {
  if (error instanceof RequestRefusedError) {
    return new JoinError('csr', `the certificate request was refused: ${error.message}`, {
      hint: 'ask who runs the cluster; to try again, restart the agent',
      cause: error,
    })
  }
  if (isStatusError(error, 'Unauthorized')) {
    return new JoinError(
      'token',
      'the server does not accept the bootstrap token: it is unknown, expired, or not for authentication',
      { hint: 'make a new token and start the agent with it', isTransient: true, cause: error },
    )
  }
  if (isStatusError(error, 'Forbidden')) {
    return new JoinError('csr', `the token may not request certificates: ${error.message}`, {
      hint: "the token's group needs the role system:node-bootstrapper",
      isTransient: true,
      cause: error,
    })
  }
  if (error instanceof ConnectionError) {
    const isUntrusted = error.code === 'untrusted'
    return new JoinError(
      isUntrusted ? 'trust' : 'csr',
      `${server} cannot be reached: ${error.message}`,
      { hint: 'check that the API server runs', isTransient: !isUntrusted, cause: error },
    )
  }
  return error
}

async function obtainCertificate(
  { dialect, clock, log }: BootstrapOptions,
  client: Client,
  { nodeName, report }: Joining,
  signal: AbortSignal,
): Promise<IssuedCertificate> {
  const resources = resourcesOf(dialect)
  report({ step: 'csr', state: 'running' })
  let cancelNotice: () => void = () => {}
  let isTokenAccepted = false
  try {
    return await requestCertificate(
      {
        csrs: client.resource<CertificateSigningRequest>(resources.certificateSigningRequests),
        wish: {
          signerName: clientSigner(dialect),
          subject: nodeSubject(nodeName),
          usages: ['digital signature', 'client auth'],
        },
        clock,
        log,
        onProgress: (state, name) => {
          if (!isTokenAccepted) report({ step: 'token', state: 'done' })
          isTokenAccepted = true
          cancelNotice()
          cancelNotice = clock.after(approvalPatienceMs, () => {
            const isApproved = state.kind === 'waiting' && state.for === 'certificate'
            report({
              step: 'csr',
              state: 'waiting',
              reason: isApproved
                ? `the request ${name} is approved but not signed yet`
                : `the request ${name} is not approved yet`,
              hint: isApproved
                ? 'the csrsigning controller must run'
                : `approve it by hand (kubectl certificate approve ${name}), or see that the csrapproving controller runs`,
            })
          })
        },
      },
      signal,
    )
  } finally {
    cancelNotice()
  }
}

export interface Bootstrapper {
  /**
   * Joins one node. Rejects with a JoinError when it cannot succeed as things are; failures that may pass (an unreachable
   * server, a token not known yet) are reported and tried again until the signal aborts.
   */
  join(node: Joining, signal: AbortSignal): Promise<JoinedNode>
  /** Drops the token and the connection that used it. */
  close(): void
}

/** For one or many nodes with one token: discovery happens once, and their requests share a connection. */
export function createBootstrapper(options: BootstrapOptions): Bootstrapper {
  const { clock } = options
  let shared: Promise<Connected> | undefined
  const connected = (report: ReportJoin): Promise<Connected> => {
    shared ??= connect(options, report).catch((error: unknown) => {
      shared = undefined
      throw error
    })
    return shared
  }
  return {
    join: async (node, signal) => {
      const startedMs = clock.now()
      const random = (): number => clock.random()
      const backoff = createBackoff({ initialMs: 100, maxMs: 2000, jitter: 0.1 }, random)
      for (;;) {
        try {
          return await obtainIdentity(options, await connected(node.report), node, signal)
        } catch (error) {
          signal.throwIfAborted()
          if (!(error instanceof JoinError)) throw error
          const { step, message: reason, hint, isTransient: retrying } = error
          const isYoung = retrying && clock.now() - startedMs < transientPatienceMs
          node.report({ step, state: isYoung ? 'waiting' : 'failed', reason, hint, retrying })
          if (!retrying) throw error
          await clock.sleep(backoff.next(), signal)
        }
      }
    },
    close: () => {
      const closing = shared
      shared = undefined
      closing?.then(
        ({ client }) => client.close(),
        () => {
          // It never connected: nothing is open.
        },
      )
    },
  }
}

/** A cluster that discovery trusts, and a client with the bootstrap token. */
interface Connected {
  readonly cluster: TrustedCluster
  readonly client: Client
}

async function connect(options: BootstrapOptions, report: ReportJoin): Promise<Connected> {
  const cluster = await findCluster(options, report)
  const client = createClient({
    server: cluster.server,
    ca: cluster.ca,
    ...(cluster.serverName === undefined ? {} : { serverName: cluster.serverName }),
    dialect: options.dialect,
    credentials: { token: options.token },
    userAgent: 'kubelet-bootstrap',
    network: options.network,
    underWay: options.underWay,
    log: options.log,
  })
  return { cluster, client }
}

async function obtainIdentity(
  options: BootstrapOptions,
  { cluster, client }: Connected,
  node: Joining,
  signal: AbortSignal,
): Promise<JoinedNode> {
  try {
    const issued = await obtainCertificate(options, client, node, signal)
    node.report({ step: 'csr', state: 'done' })
    return { ...issued, cluster }
  } catch (error) {
    throw requestFailure(error, cluster.server)
  }
}
