/**
 * WithControllers: the API server with the controller manager, the scheduler and a simulated node beside it, as processes that
 * end with it. Each has the identity and the rights that it has in a cluster (cluster/plan).
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { issue, createPki } from '../certs/pki.ts'
import type { Pki } from '../certs/pki.ts'
import { writeCredential } from '../certs/pki-files.ts'
import { clientProfile, kubeletClientSubject, nodeSubject } from '../certs/profiles.ts'
import { privateKeyPem } from '../certs/keys.ts'
import { caHashOf } from '../cluster/plan/ca-hash.ts'
import { serverUrl } from '../cluster/plan/cluster-config.ts'
import type { ClusterConfig } from '../cluster/plan/cluster-config.ts'
import { createObjects } from '../cluster/plan/join-objects.ts'
import type { PlacedObject } from '../cluster/plan/join-objects.ts'
import { planCluster } from '../cluster/plan/plan.ts'
import type { ComponentSpec } from '../cluster/plan/component-spec.ts'
import { writePlannedFiles } from '../cluster/plan/prepare.ts'
import { namedKubeconfig } from '../cluster/state/kubeconfig.ts'
import { pathsIn } from '../cluster/state/state-dir.ts'
import type { StatePaths } from '../cluster/state/state-dir.ts'
import type { apiServerFlags } from '../components/api-server/configuration/options.ts'
import { runApiServer } from '../components/api-server/start/api-server.ts'
import { apiGroup, dialectNamed, dialects } from '../components/api/dialect.ts'
import type { Dialect } from '../components/api/dialect.ts'
import { resourcesOf } from '../components/api/resources.ts'
import { createClient } from '../components/client/client.ts'
import { writeKubeconfig } from '../components/client/kubeconfig.ts'
import type { ComponentContext } from '../components/component-base/component.ts'
import { keepRunning } from './beside.ts'
import { reachableAddress } from './reachable-address.ts'

type Context = ComponentContext<typeof apiServerFlags>

const nodeName = 'node-1'

/** The files with which the server and the processes beside it trust each other. */
interface Trust {
  readonly pki: Pki
  readonly paths: StatePaths
  readonly dialect: Dialect
  /** Verifies the server's certificate: it alone, where its authority is known to the test alone. */
  readonly serverCa: string
}

/** Credentials by file name; the administrator's stays in this process. */
const writtenCredentials = [
  'apiserver-kubelet-client',
  'controller-manager',
  'controller-manager-serving',
  'scheduler',
  'scheduler-serving',
] as const

async function makeTrust({ options, clock }: Context, folder: string): Promise<Trust> {
  const dialect = dialectNamed(options.dialect) ?? dialects.kubernetes
  const pki = createPki({
    apiServer: { serviceName: dialect.apiServerService },
    nowMs: clock.now(),
  })
  const paths = pathsIn(folder)
  await mkdir(paths.pki, { recursive: true, mode: 0o700 })
  const { authority } = pki
  const serverCa = await readFile(options['tls-cert-file'] ?? '', 'utf8')
  await Promise.all([
    // The processes verify the server and its clients with one file, as in a cluster. The authority that signs comes first.
    writeCredential(paths.pki, 'ca', {
      certificatePem: `${authority.certificatePem.trimEnd()}\n${serverCa}`,
      privateKeyPem: privateKeyPem(authority.privateKey),
    }),
    ...writtenCredentials.map((name) => writeCredential(paths.pki, name, pki.credentials[name])),
  ])
  return { pki, paths, dialect, serverCa }
}

/** The server's own options, with which it accepts the identities of the processes beside it. */
async function trustingOptions(
  options: Context['options'],
  { pki, paths }: Trust,
): Promise<Context['options']> {
  const clientCa = join(paths.pki, 'client-ca.crt')
  const given = options['client-ca-file']
  const theirs = given === undefined ? '' : await readFile(given, 'utf8')
  await writeFile(clientCa, `${theirs.trimEnd()}\n${pki.authority.certificatePem}`, { mode: 0o600 })
  const modes = options['authorization-mode']?.split(',') ?? []
  const needsNode = modes.includes('RBAC') && !modes.includes('Node')
  return {
    ...options,
    'client-ca-file': clientCa,
    'kubelet-client-certificate':
      options['kubelet-client-certificate'] ?? join(paths.pki, 'apiserver-kubelet-client.crt'),
    'kubelet-client-key':
      options['kubelet-client-key'] ?? join(paths.pki, 'apiserver-kubelet-client.key'),
    ...(needsNode ? { 'authorization-mode': ['Node', ...modes].join(',') } : {}),
  }
}

function configOf(options: Context['options'], port: number, { pki }: Trust): ClusterConfig {
  // No process stands by to take over, and a restarted one must not wait until its own former lease ends.
  const alone = { 'leader-elect': 'false' }
  const signingKey = options['service-account-signing-key-file']
  return {
    name: 'envtest',
    id: 'envtest',
    dialect: options.dialect === 'svc' ? 'svc' : 'kubernetes',
    address: reachableAddress(options['bind-address']),
    port,
    serviceRange: options['service-cluster-ip-range'],
    caHash: caHashOf(pki.authority),
    nodes: [{ name: nodeName }],
    extraFlags: {
      'controller-manager': {
        ...alone,
        ...(signingKey === undefined ? {} : { 'service-account-private-key-file': signingKey }),
      },
      scheduler: alone,
    },
  }
}

/** The node has its certificate from the start, and need not join. */
async function writeNodeKubeconfig(config: ClusterConfig, trust: Trust, nowMs: number) {
  const { pki, paths, serverCa } = trust
  const subject = nodeSubject(nodeName)
  const { certificatePem: cert, privateKeyPem: key } = issue(pki.authority, {
    profile: clientProfile(subject),
    nowMs,
  })
  const kubeconfig = namedKubeconfig(subject.commonName, {
    server: serverUrl(config),
    ca: `${pki.authority.certificatePem.trimEnd()}\n${serverCa}`,
    credentials: { cert, key },
  })
  await writeKubeconfig(join(paths.nodes, nodeName, 'kubeconfig'), kubeconfig, { style: 'json' })
}

/** Lets the server read logs and run commands in the node's pods, as upstream advises (kubelet authorization). */
function kubeletAccess(dialect: Dialect): PlacedObject {
  const rbac = apiGroup(dialect, 'rbac.authorization')
  const user = kubeletClientSubject.commonName
  return {
    resource: resourcesOf(dialect).clusterRoleBindings,
    object: {
      metadata: { name: user },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'system:kubelet-api-admin' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
    },
  }
}

async function grantKubeletAccess(config: ClusterConfig, trust: Trust, signal: AbortSignal) {
  const { certificatePem: cert, privateKeyPem: key } = trust.pki.credentials.admin
  const client = createClient({
    server: serverUrl(config),
    ca: trust.serverCa,
    credentials: { cert, key },
    dialect: trust.dialect,
  })
  try {
    await createObjects(client, [kubeletAccess(trust.dialect)], signal)
  } finally {
    client.close()
  }
}

async function planBeside(
  { options, clock }: Context,
  port: number,
  trust: Trust,
): Promise<{ config: ClusterConfig; specs: readonly ComponentSpec[] }> {
  const { paths } = trust
  const config = configOf(options, port, trust)
  const specs = planCluster(config, paths).filter(({ program }) => program !== 'api-server')
  await writePlannedFiles(specs, { config, paths, token: undefined })
  await writeNodeKubeconfig(config, trust, clock.now())
  return { config, specs }
}

/** Serves until `signal` aborts; what runs beside the server has then ended. Its files are in `folder`. */
export async function runWithControllers(context: Context, folder: string): Promise<void> {
  const trust = await makeTrust(context, folder)
  const options = await trustingOptions(context.options, trust)
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  let beside: Promise<void> = Promise.resolve()
  const start = async (port: number): Promise<void> => {
    const { config, specs } = await planBeside(context, port, trust)
    await grantKubeletAccess(config, trust, signal)
    await Promise.all(specs.map((spec) => keepRunning(spec, { ...context, signal })))
  }
  const onReady = (info: Readonly<Record<string, unknown>> = {}): void => {
    beside = start(Number(info['port'])).catch((error: unknown) => {
      if (!signal.aborted) context.log.error('controllers do not run', { error })
    })
    context.ready(info)
  }
  try {
    await runApiServer({ ...context, options, ready: onReady })
  } finally {
    stop.abort()
    await beside
  }
}
