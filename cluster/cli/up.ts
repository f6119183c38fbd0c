/** `skiff up`: starts a cluster and returns when every node is Ready. */
import { readFileSync } from 'node:fs'
import { dialectNamed } from '../../components/api/dialect.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import type { FlagValues } from '../../components/component-base/flags.ts'
import { linkOfConsole } from '../find-console.ts'
import { startCluster } from '../cluster.ts'
import type { Cluster } from '../cluster.ts'
import { parseCertificateKey } from '../control-plane/certificate-key.ts'
import type { ControlPlaneJoin } from '../control-plane/fetch-certificates.ts'
import { parseToken } from '../plan/bootstrap-token.ts'
import { nodeNames, programs as usualPrograms } from '../plan/cluster-config.ts'
import type { ExtraFlags, Program } from '../plan/cluster-config.ts'
import { ClusterError } from '../cluster-error.ts'
import type { TopologySettings } from '../plan/topology.ts'
import type { Stage } from '../../components/stage-runner/stage.ts'
import { parentOf } from '../state/lifetime.ts'
import { exportLine } from '../shell-word.ts'
import { explained } from '../system-error.ts'
import { nameFlagOf } from '../state/state-dir.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { checkCaHash, checkServer } from './join-place.ts'
import { createUpProgress } from './up-progress.ts'
import { asTyped, shortDuration } from './terminal.ts'

/** What is in the file if one is named, else what was given. */
async function secretOf(text: string, file: string): Promise<string> {
  return file === '' ? text : await explained(file, () => readFileSync(file, 'utf8'))
}

/** How to join a control plane; undefined for a cluster of its own. */
async function controlPlaneOf(
  given: FlagValues<typeof flags>,
): Promise<ControlPlaneJoin | undefined> {
  const server = given['control-plane']
  const caHash = given['discovery-token-ca-cert-hash']
  const token = await secretOf(given.token, given['token-file'])
  const key = await secretOf(given['certificate-key'], given['certificate-key-file'])
  if (server === undefined) {
    if (token === '' && key === '' && caHash === '') return undefined
    throw new ClusterError(
      'usage',
      'a token, a CA pin and a certificate key need --control-plane',
      {
        hint: 'to run a node agent instead, use skiff join',
      },
    )
  }
  return {
    server: checkServer(server),
    token: parseToken(token),
    caHash: checkCaHash(caHash),
    certificateKey: parseCertificateKey(key),
  }
}

/** What of the command line makes the topology of the cluster. */
function topologyOfFlags(given: FlagValues<typeof flags>): TopologySettings {
  const servers = given['etcd-servers']
  const file = (path: string | undefined): string | undefined => (path === '' ? undefined : path)
  return {
    store: given.store === 'sqlite' || given.store === 'etcd' ? given.store : undefined,
    etcdMembers: given['etcd-members'],
    etcdBinary: given['etcd-binary'],
    etcdServers: servers.length === 0 ? undefined : servers,
    etcdFiles: {
      caFile: file(given['etcd-cafile']),
      certFile: file(given['etcd-certfile']),
      keyFile: file(given['etcd-keyfile']),
    },
    apiServers: given['api-servers'],
    controllerManagers: given['controller-managers'],
    schedulers: given.schedulers,
  }
}

/** Rejects with a ClusterError of kind `usage` that names what is wrong, each with file and line. */
async function stagesIn(files: readonly string[]): Promise<readonly Stage[] | undefined> {
  if (files.length === 0) return undefined
  // Its languages are large.
  const { readStages, StageFilesError } = await import('../stages/read-stages.ts')
  try {
    return readStages(files)
  } catch (error) {
    if (!(error instanceof StageFilesError)) throw error
    throw new ClusterError('usage', '--stages: these files cannot be played', {
      details: error.faults,
      cause: error,
    })
  }
}

const flags = defineFlags({
  ...nameFlag,
  from: flag.string('Saved cluster (`skiff save`) that a new cluster begins with.'),
  nodes: flag.int('Number of nodes, each a process of its own; 3 by default.'),
  'simulated-nodes': flag.int('Number of simulated nodes; a process carries up to 1,250 of them.'),
  dialect: flag.string('Dialect of names in the API; kubernetes by default.', '', {
    choices: ['kubernetes', 'svc'],
  }),
  port: flag.int('Port of the API server; 6443 by default, or a free one if 6443 is in use.'),
  address: flag.string('Address that all components listen on; 127.0.0.1 by default.'),
  store: flag.string(
    'Where the state is kept: a file (sqlite), or an etcd that the cluster runs; sqlite by default.',
    '',
    {
      choices: ['sqlite', 'etcd'],
    },
  ),
  'etcd-members': flag.int(
    'Members of that etcd: 1, 3, 5 or 7; 3 by default with several API servers, else 1. With --control-plane: 1, or 0 for none on this machine.',
  ),
  'etcd-binary': flag.string('The etcd to run; the one in PATH by default.'),
  'etcd-servers': flag.list('URLs of an existing etcd that keeps the state.', []),
  'etcd-cafile': flag.string('CAs of the existing etcd, PEM.'),
  'etcd-certfile': flag.string('Client certificate for the existing etcd, PEM.'),
  'etcd-keyfile': flag.string('Key of that client certificate, PEM.'),
  'api-servers': flag.int(
    'Number of API servers, behind a load balancer if there are several; 1 by default.',
  ),
  'controller-managers': flag.int(
    'Number of controller managers, of which one leads; 1 by default.',
  ),
  'control-plane': flag.string(
    'URL of an API server of an existing cluster, whose control plane this machine joins.',
  ),
  token: flag.string(
    'Token for --control-plane; other users can see it here, so prefer --token-file.',
    '',
  ),
  'token-file': flag.string('File with the token for --control-plane.', ''),
  'discovery-token-ca-cert-hash': flag.string(
    "CA pin for --control-plane: sha256:HEX of the CA's public key.",
    '',
  ),
  'certificate-key': flag.string(
    'Key of the uploaded certificates for --control-plane; prefer --certificate-key-file.',
    '',
  ),
  'certificate-key-file': flag.string('File with that key.', ''),
  schedulers: flag.int('Number of schedulers, of which one leads; 1 by default.'),
  stages: flag.list(
    "Stage files of kwok that the cluster plays on fake nodes, their pods and other kinds; default: kwokctl's own stages. Repeatable.",
    [],
  ),
  console: flag.bool('Run a console, a page that shows the cluster.', false),
  set: flag.list(
    'COMPONENT.FLAG=VALUE: sets a flag of a component, such as controller-manager.node-monitor-grace-period=20s. Repeatable.',
    [],
    { isWhole: true },
  ),
  wait: flag.duration(
    'How long to wait for the nodes to become Ready, and before that for an existing etcd, 20s at most.',
    60_000,
    { least: 0 },
  ),
  parent: flag.int('Delete the cluster when the process with this pid ends.'),
  ttl: flag.duration('Delete the cluster after this time.', undefined, {
    least: 1000,
  }),
  ...outputFlag,
})

const [portHint, addressHint, dialectHint] = ['port', 'address', 'dialect'].map(
  (flagName) => `use --${flagName}, which sets it for all components`,
)
const byCommand = {
  dialect: dialectHint,
  'bind-address': addressHint,
}
const etcdHint = 'the plan of the cluster sets it'
const etcdPlanned = [
  'name',
  'data-dir',
  'initial-cluster',
  'initial-cluster-state',
  'initial-cluster-token',
  'listen-client-urls',
  'listen-peer-urls',
  'listen-metrics-urls',
  'advertise-client-urls',
  'initial-advertise-peer-urls',
  'logger',
]
const nodeHint = 'it differs per node: see `skiff node add` and `skiff join`'
/** Those whose flags `--set` sets. */
const programs: readonly Program[] = [
  ...usualPrograms,
  'load-balancer',
  'stage-runner',
  'console',
  'etcd',
]

/** Flags that the plan sets, since processes have to agree on them; each with what to use instead. */
const plannedFlags: Readonly<Record<Program, Readonly<Record<string, string | undefined>>>> = {
  'api-server': { ...byCommand, 'secure-port': portHint },
  'controller-manager': byCommand,
  scheduler: byCommand,
  'node-agent': {
    dialect: dialectHint,
    address: addressHint,
    server: portHint,
    'node-name': nodeHint,
    'hostname-override': nodeHint,
    'root-dir': nodeHint,
    'cert-dir': nodeHint,
    config: nodeHint,
    nodes: 'use --simulated-nodes',
  },
  'load-balancer': {
    'bind-address': addressHint,
    port: portHint,
    'backends-file': 'use --api-servers',
  },
  'stage-runner': {
    dialect: dialectHint,
    kubeconfig: 'the plan of the cluster sets it',
    'stages-file': 'use --stages',
  },
  console: {
    dialect: dialectHint,
    kubeconfig: 'the plan of the cluster sets it',
    'state-dir': 'the plan of the cluster sets it',
    'link-secret-file': 'the plan of the cluster sets it',
  },
  etcd: Object.fromEntries(etcdPlanned.map((name) => [name, etcdHint])),
}

/** `api-server.v=4` -> `{ 'api-server': { v: '4' } }`. */
export function parseExtraFlags(settings: readonly string[]): ExtraFlags {
  const extra: Partial<Record<Program, Record<string, string>>> = {}
  for (const setting of settings) {
    const match = /^([a-z-]+)\.(?:--)?([A-Za-z0-9-]+)=(.*)$/s.exec(setting)
    const program = programs.find((name) => name === match?.[1])
    if (match === null || program === undefined) {
      throw new ClusterError('usage', `invalid --set ${setting}: must be COMPONENT.FLAG=VALUE`, {
        hint: `components: ${programs.join(', ')}`,
      })
    }
    const name = match[2] ?? ''
    const owner = plannedFlags[program][name]
    if (owner !== undefined) {
      throw new ClusterError('usage', `--set ${setting}: --${name} cannot be set with this flag`, {
        hint: owner,
      })
    }
    extra[program] = { ...extra[program], [name]: match[3] ?? '' }
  }
  return extra
}

interface UpResult extends Pick<Cluster, 'config' | 'paths' | 'server' | 'resumed'> {
  /** Opens the console, if the cluster has one. */
  readonly link: string | undefined
  readonly readyAfterMs: number
}

/** What the command prints of a cluster that is Ready. */
function resultOf({ config, paths, server, resumed, link, readyAfterMs }: UpResult) {
  const { name, dialect, nodes } = config
  const asJson = (): string =>
    `${JSON.stringify({
      name,
      server,
      kubeconfig: paths.adminKubeconfig,
      stateDir: paths.dir,
      nodes: nodes.flatMap(nodeNames),
      dialect,
      resumed,
      readyAfterMs,
      ...(link === undefined ? {} : { console: link }),
    })}\n`
  const suffix = nameFlagOf(name)
  const asText = (): string =>
    `Cluster "${name}" is Ready after ${shortDuration(readyAfterMs)}: ${server}\n\n` +
    `  ${exportLine('KUBECONFIG', paths.adminKubeconfig)}\n  kubectl get nodes\n\n` +
    (link === undefined ? '' : `Console, opened once by this link:\n\n  ${link}\n\n`) +
    `What runs: skiff status${suffix}    Delete it: skiff down${suffix}\n`
  return { asJson, asText }
}

export const up = defineCommand({
  name: 'up',
  summary: 'Start a cluster and wait until every node is Ready',
  description:
    'Starts an API server, a controller manager, a scheduler and node agents as processes of this machine. All\n' +
    'connections use TLS, and the nodes join with a bootstrap token. A stopped cluster starts again with its data, for\n' +
    'example after a reboot. A failed start leaves nothing behind.\n\n' +
    'With --from, the cluster begins with the objects and resourceVersions of a saved one, and with its nodes. It has keys\n' +
    'of its own: credentials of the saved cluster are invalid in it.\n\n' +
    'The state directory is $XDG_STATE_HOME/skiff/clusters/NAME (~/.local/state/skiff/clusters/NAME).',
  flags,
  handlesInterrupt: true,
  examples: [
    ['skiff up', 'Start a cluster with three nodes'],
    [
      'skiff up --name big --nodes 1 --simulated-nodes 500',
      'Start a second cluster, with 501 nodes',
    ],
    ['skiff up --name copy --from saved.skiff', 'Start a copy of a saved cluster'],
    ['skiff up --console', 'Start a cluster with a page that shows it'],
    ['skiff up --nodes 0 --stages stages.yaml', 'Play Stage files of kwok on fake nodes'],
    ['skiff up --parent $$ --ttl 1h', 'Delete it when this shell ends, or after an hour'],
    [
      'skiff up --name test-$$ --parent $$ --ttl 10m --port 0 --output json',
      'Start a cluster for one run of tests, and print where its kubeconfig is',
    ],
    [
      'skiff up --store etcd --api-servers 3',
      'Start three API servers behind a load balancer, with three etcd members',
    ],
    [
      'skiff up --set controller-manager.node-monitor-grace-period=20s',
      'Notice a lost node after 20 seconds instead of 50',
    ],
  ],
  run: async (context, { flags: given }) => {
    const { terminal, clock, signal } = context
    const startedMs = clock.now()
    const progress = createUpProgress({ terminal, clock })
    try {
      const cluster = await startCluster({
        name: given.name,
        stateRoot: context.stateRoot,
        from: given.from,
        nodes: given.nodes,
        simulatedNodes: given['simulated-nodes'],
        dialect: dialectNamed(given.dialect)?.name,
        port: given.port,
        address: given.address,
        ...topologyOfFlags(given),
        controlPlane: await controlPlaneOf(given),
        console: given.console || undefined,
        stages: await stagesIn(given.stages),
        extraFlags: parseExtraFlags(given.set),
        waitMs: given.wait,
        parent: given.parent === undefined ? undefined : parentOf(given.parent),
        ttlMs: given.ttl,
        clock,
        signal,
        onProgress: (event) => progress.report(event),
      })
      progress.end()
      const { config, paths, server, resumed } = cluster
      const link = config.console === true ? await linkOfConsole(cluster, clock) : undefined
      cluster.disconnect()
      const { asJson, asText } = resultOf({
        config,
        paths,
        server,
        resumed,
        link,
        readyAfterMs: clock.now() - startedMs,
      })
      terminal.out(given.output === 'json' ? asJson() : asTyped(asText(), context.program))
      return exitCodes.ok
    } catch (error) {
      progress.end()
      throw error
    }
  },
})
