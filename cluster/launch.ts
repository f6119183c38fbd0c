/** Launch: creates a cluster, or resumes a stored one, up to a supervisor that answers. A failed launch leaves nothing behind. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createEtcdPki } from '../certs/etcd-pki.ts'
import { createPki } from '../certs/pki.ts'
import type { Dialect } from '../components/api/dialect.ts'
import type { Stage } from '../components/stage-runner/stage.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { environment } from '../components/component-base/environment.ts'
import { baseImageFor } from './plan/base-image.ts'
import { createBootstrapToken, formatToken } from './plan/bootstrap-token.ts'
import { caHashOf } from './plan/ca-hash.ts'
import type { BootstrapToken } from './plan/bootstrap-token.ts'
import { checkEtcd } from './check-etcd.ts'
import { checkSimulated } from './check-node.ts'
import { checkPki } from './state/check-pki.ts'
import { readClusterConfig, writeClusterConfig } from './plan/cluster-config.ts'
import type { ClusterConfig, ExtraFlags, NodeConfig, Program } from './plan/cluster-config.ts'
import { ClusterError } from './cluster-error.ts'
import { connectControl } from './control-client.ts'
import type { ControlClient } from './control-client.ts'
import type { ControlPlaneJoin } from './control-plane/fetch-certificates.ts'
import { joinControlPlane } from './control-plane/join-control-plane.ts'
import type { Lifetime } from './state/lifetime.ts'
import { pathOfEtcd } from './plan/find-etcd.ts'
import { planCluster } from './plan/plan.ts'
import { choosePort } from './plan/ports.ts'
import { checkTopology, topologyOf } from './plan/topology.ts'
import type { TopologySettings } from './plan/topology.ts'
import { apiServerNames, prepareCluster, writePlannedFiles } from './plan/prepare.ts'
import type { ClusterPki } from './plan/prepare.ts'
import type { Programs } from './plan/programs.ts'
import { isOfPool, simulatedProcesses } from './plan/simulated-pool.ts'
import { readSavedHeader } from './saved/read-header.ts'
import { spawnSupervisor } from './spawn-supervisor.ts'
import { lockForStart } from './state/start-lock.ts'
import type { StartLock } from './state/start-lock.ts'
import {
  createStateDir,
  removeStateDir,
  stateDirExists,
  statePaths,
  withClearErrors,
  writePrivateFile,
} from './state/state-dir.ts'
import type { StatePaths } from './state/state-dir.ts'
import { endLeftovers, removeCluster, stopCluster } from './take-down.ts'

/** Settings of a new cluster; unset fields have the defaults of `skiff up`. A stored cluster keeps its own. */
export interface ClusterSettings extends TopologySettings {
  readonly nodes?: number | undefined
  /** Adds processes that carry this many simulated nodes: one for up to 1,250, else as many as they need. */
  readonly simulatedNodes?: number | undefined
  readonly dialect?: Dialect['name'] | undefined
  readonly address?: string | undefined
  readonly port?: number | undefined
  readonly serviceRange?: string | undefined
  /** File of a saved cluster that it begins with, and whose nodes, dialect and service range it has. */
  readonly from?: string | undefined
  readonly extraFlags?: ExtraFlags | undefined
  /** Runs a console; default: no. A stored cluster may be given one. */
  readonly console?: boolean | undefined
  /** Stages of kwok that it plays; default: none, and no process for them. */
  readonly stages?: readonly Stage[] | undefined
  /** Joins the control plane of an existing cluster, whose settings it takes; absent: a cluster of its own. */
  readonly controlPlane?: ControlPlaneJoin | undefined
}

export interface LaunchOptions extends ClusterSettings, Lifetime {
  readonly name: string
  /** Folder that holds all clusters' state directories. */
  readonly stateRoot: string
  readonly programs: Programs
  readonly lifetime: 'detached' | 'owner'
  readonly clock: Clock
  readonly supervisorFlags?: readonly string[] | undefined
  /** How long an existing etcd may take to answer before the start; absent: only the API server asks it. */
  readonly etcdWaitMs?: number | undefined
}

/** A cluster whose supervisor answers; `control.call('start')` starts its components. */
export interface LaunchedCluster {
  readonly config: ClusterConfig
  readonly paths: StatePaths
  readonly control: ControlClient
  /** The agents' token. The caller creates its Secret as soon as the API server serves. */
  readonly token: BootstrapToken
  /** True when the cluster existed before, with its data. */
  readonly resumed: boolean
  /** Absolute path of the saved cluster that the API server has to begin with. */
  readonly initialState: string | undefined
  /** Path of the base image that its store begins with. */
  readonly baseImage: string | undefined
  /** True when an earlier start was killed halfway; its processes have been ended. */
  readonly followsInterrupted: boolean
  /** Releases the start lock: the start is over. Until then other starts of the cluster fail. */
  release(): void
  /** Undoes the launch: a new cluster is removed, a resumed one stopped. */
  undo(): Promise<void>
}

const defaultNodes = 3
const mostNodes = 200

function nodesOf(settings: ClusterSettings): NodeConfig[] {
  const { nodes = defaultNodes, simulatedNodes = 0 } = settings
  if (!Number.isInteger(nodes) || nodes < 0 || nodes > mostNodes) {
    throw new ClusterError(
      'usage',
      `invalid number of nodes ${nodes}: must be from 0 to ${mostNodes}`,
      {
        hint: 'each node is a process; use --simulated-nodes for thousands',
      },
    )
  }
  checkSimulated(simulatedNodes, 0)
  const list: NodeConfig[] = Array.from({ length: nodes }, (_, index) => ({
    name: `node-${index + 1}`,
  }))
  return [...list, ...simulatedProcesses(simulatedNodes)]
}

/** Flag, what it says, and what the stored cluster has. */
function topologyDifferences(
  { etcd, apiServers, controllerManagers, schedulers }: ClusterConfig,
  settings: TopologySettings,
): [string, unknown, unknown][] {
  return [
    ['--store', settings.store, etcd === undefined ? 'sqlite' : 'etcd'],
    ['--etcd-members', settings.etcdMembers, etcd?.own?.members.length ?? 0],
    ['--etcd-binary', settings.etcdBinary, etcd?.own?.binary ?? 'none'],
    ['--etcd-servers', settings.etcdServers?.join(), etcd?.servers.join() ?? 'none'],
    ['--api-servers', settings.apiServers, apiServers?.length ?? 1],
    ['--controller-managers', settings.controllerManagers, controllerManagers ?? 1],
    ['--schedulers', settings.schedulers, schedulers ?? 1],
  ]
}

/** Throws a ClusterError for a setting that differs from the stored cluster's: it would have no effect. */
function refuseChanges(config: ClusterConfig, settings: ClusterSettings): void {
  if (settings.from !== undefined) {
    throw new ClusterError('already-exists', `cluster "${config.name}" already exists`, {
      hint: `a saved cluster starts as a new one: choose another --name, or remove it first: skiff down --name ${config.name}`,
    })
  }
  if (settings.controlPlane !== undefined) {
    throw new ClusterError('already-exists', `cluster "${config.name}" already exists`, {
      hint: `omit --control-plane and its flags to start it as it is, or remove it first: skiff down --name ${config.name}`,
    })
  }
  const differs: [string, unknown, unknown][] = [
    ['--dialect', settings.dialect, config.dialect],
    ['--port', settings.port, config.port],
    ['--address', settings.address, config.address],
    ['--nodes', settings.nodes, config.nodes.filter((node) => node.simulated === undefined).length],
    [
      '--simulated-nodes',
      settings.simulatedNodes,
      config.nodes
        .filter(({ name }) => isOfPool(name))
        .reduce((sum, { simulated = 0 }) => sum + simulated, 0),
    ],
  ]
  differs.push(...topologyDifferences(config, settings))
  for (const [program, flags] of Object.entries(settings.extraFlags ?? {})) {
    for (const [name, wanted] of Object.entries(flags)) {
      const has = config.extraFlags[program as Program]?.[name]
      differs.push([`--set ${program}.${name}`, wanted, has ?? 'unset'])
    }
  }
  if (settings.stages !== undefined && !isDeepStrictEqual(settings.stages, config.stages ?? []))
    differs.push(['--stages', 'these', config.stages === undefined ? 'unset' : 'of other content'])
  for (const [flag, wanted, has] of differs) {
    if (wanted === undefined || wanted === has) continue
    throw new ClusterError(
      'usage',
      `cluster "${config.name}" already exists, with ${flag} ${String(has)}`,
      {
        hint: `omit ${flag} to start it as it is, or remove it first: skiff down --name ${config.name}`,
      },
    )
  }
}

/** The settings with what a saved cluster says of the new one. Throws a ClusterError for one that contradicts it. */
async function withSaved(
  options: LaunchOptions,
): Promise<LaunchOptions & { readonly nodeList: readonly NodeConfig[] }> {
  const { from } = options
  if (from === undefined) return { ...options, nodeList: nodesOf(options) }
  const { dialect, serviceRange, nodes } = await readSavedHeader(from)
  if (options.dialect !== undefined && options.dialect !== dialect) {
    throw new ClusterError('usage', `${from} is a cluster of the dialect ${dialect}`, {
      hint: 'omit --dialect',
    })
  }
  const isAsked = options.nodes !== undefined || options.simulatedNodes !== undefined
  const nodeList = isAsked ? nodesOf(options) : nodes
  return { ...options, dialect, serviceRange, nodeList }
}

/** Throws a ClusterError of kind `usage` for settings that the joined cluster has decided. */
function checkJoinSettings(options: LaunchOptions): void {
  const { nodes = 0, simulatedNodes = 0, extraFlags = {} } = options
  const decided: [string, boolean][] = [
    ['--from', options.from !== undefined],
    ['--dialect', options.dialect !== undefined],
    ['--store', options.store !== undefined],
    ['--etcd-servers', options.etcdServers !== undefined],
    ['--api-servers', options.apiServers !== undefined],
    ['--set', Object.keys(extraFlags).length > 0],
    ['--nodes', nodes > 0],
    ['--simulated-nodes', simulatedNodes > 0],
    ['--stages', options.stages !== undefined],
  ]
  const wrong = decided.find(([, isGiven]) => isGiven)
  const { etcdMembers = 1 } = options
  if (etcdMembers !== 0 && etcdMembers !== 1) {
    throw new ClusterError('usage', `invalid --etcd-members ${etcdMembers} with --control-plane`, {
      hint: 'a machine that joins adds one member, or none: --etcd-members 0',
    })
  }
  if (wrong === undefined) return
  throw new ClusterError('usage', `--control-plane and ${wrong[0]} cannot be combined`, {
    hint: wrong[0].endsWith('nodes')
      ? 'add nodes when it runs: skiff node add NAME'
      : `omit ${wrong[0]}: the cluster that is joined has decided it`,
  })
}

/** Throws a ClusterError of kind `usage` for settings of a cluster of its own that are wrong by themselves. */
function checkSettings(options: LaunchOptions): void {
  const { address = '127.0.0.1', controlPlane } = options
  if (controlPlane !== undefined) return checkJoinSettings(options)
  if (isIP(address) === 0) {
    throw new ClusterError('usage', `"${address}" is not an IP address`, {
      hint: 'give --address an address of this machine, such as 127.0.0.1',
    })
  }
  nodesOf(options)
  checkTopology(options)
  if (options.from !== undefined && (options.apiServers ?? 1) > 1) {
    throw new ClusterError('usage', '--from and --api-servers cannot be combined', {
      hint: 'start the saved cluster with one API server',
    })
  }
}

async function newCluster(
  wanted: LaunchOptions,
): Promise<{ config: ClusterConfig; pki: ClusterPki }> {
  checkSettings(wanted)
  if (wanted.controlPlane !== undefined) {
    const paths = statePaths(wanted.stateRoot, wanted.name)
    const { name, address, port, etcdMembers, etcdBinary, clock, controlPlane: join } = wanted
    const etcd = { etcdMembers, etcdBinary }
    return await joinControlPlane({ name, join, address, port, ...etcd, clock, paths })
  }
  const options = await withSaved(wanted)
  const { clock, address = '127.0.0.1', serviceRange = '10.96.0.0/16' } = options
  const port = await choosePort(address, options.port)
  const topology = await topologyOf(options, { address, port, environment })
  const dialect = options.dialect ?? 'kubernetes'
  const shape = { dialect, address, serviceRange, ...topology } as const
  const nowMs = clock.now()
  const { stages } = options
  const hasStages = stages !== undefined
  const pki = createPki({ apiServer: apiServerNames(shape), nowMs, hasStages })
  const config: ClusterConfig = {
    name: options.name,
    id: clock.uuid(),
    ...shape,
    port,
    caHash: caHashOf(pki.authority),
    nodes: options.nodeList,
    extraFlags: options.extraFlags ?? {},
    ...(options.console === true && { console: true }),
    ...(stages === undefined ? {} : { stages }),
  }
  if (topology.etcd?.own === undefined) return { config, pki }
  return { config, pki: { ...pki, etcd: createEtcdPki({ addresses: [address], nowMs }) } }
}

const mostPlaces = 5

/** Creates the state directory if needed and takes its locks. */
async function placeForStart(paths: StatePaths, options: LaunchOptions): Promise<StartLock> {
  for (let tries = 1; ; tries += 1) {
    const wasThere = stateDirExists(paths)
    try {
      createStateDir(paths)
      return await lockForStart(paths, options)
    } catch (error) {
      // Another process removed it meanwhile.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && tries < mostPlaces) continue
      const isTheirs = error instanceof ClusterError && error.kind === 'already-exists'
      if (!wasThere && !isTheirs) removeStateDir(paths)
      throw error
    }
  }
}

/** A start under way: the directory with its locks, and how to undo what was done in it. */
interface Start {
  readonly paths: StatePaths
  readonly lock: StartLock
  readonly isNew: boolean
  /** Id of the cluster once it is known; another id in the directory belongs to another cluster. */
  id: string | undefined
}

/** Whether the cluster was taken down during its start: what the directory holds now, if anything, is another cluster. */
function isGone({ paths, lock, id }: Start): boolean {
  try {
    const found = readClusterConfig(paths)?.id ?? id
    return found !== id || !lock.isHeld()
  } catch {
    return false // damaged, but still this cluster
  }
}

async function undoStart(start: Start, clock: Clock): Promise<void> {
  if (isGone(start)) return
  const { paths, lock, isNew } = start
  try {
    if (isNew) await removeCluster(paths, { clock })
    else await stopCluster(paths, { clock })
  } finally {
    lock.release()
  }
}

/** Throws a ClusterError when its start from a saved cluster did not come to its end. */
function refuseHalf({ name }: ClusterConfig, paths: StatePaths): void {
  if (!existsSync(paths.startsFrom)) return
  const file = readFileSync(paths.startsFrom, 'utf8')
  throw new ClusterError('failed', `the start of cluster "${name}" from ${file} was interrupted`, {
    hint: `remove it, and start it again: skiff down --name ${name}`,
  })
}

/** Throws a ClusterError when another store was to take the place of its store, and that did not come to its end. */
function refuseReplaced(name: string, paths: StatePaths): void {
  if (!existsSync(paths.replacing)) return
  const command = readFileSync(paths.replacing, 'utf8')
  throw new ClusterError('failed', `\`${command}\` of cluster "${name}" was interrupted`, {
    hint: `run it again; what was stored before is kept in ${paths.dir}`,
  })
}

/** Checks that a stored cluster can start again as it is: its settings, certificates and port. Ends leftover processes. */
async function checkStored(
  stored: ClusterConfig,
  paths: StatePaths,
  options: LaunchOptions,
): Promise<void> {
  const { clock } = options
  refuseChanges(stored, options)
  refuseHalf(stored, paths)
  await checkPki(paths, clock.now())
  await endLeftovers(paths, { clock })
  const hint =
    "end the process that listens there: the cluster's certificates and clients use this port"
  await choosePort(stored.address, stored.port, hint)
  for (const { address, port } of stored.apiServers ?? []) await choosePort(address, port, hint)
  for (const { clientPort, peerPort } of stored.etcd?.own?.members ?? []) {
    await choosePort(stored.address, clientPort, hint)
    await choosePort(stored.address, peerPort, hint)
  }
}

/** A cluster to start; one that was there before has its pki. */
interface Made {
  readonly config: ClusterConfig
  readonly pki?: ClusterPki
}

/** Writes the cluster's files while the process of its supervisor starts; resolves when the supervisor answers. */
async function startSupervisor(
  made: Made,
  paths: StatePaths,
  options: LaunchOptions,
): Promise<Pick<LaunchedCluster, 'control' | 'token'>> {
  const { config, pki } = made
  const { programs, lifetime, parent, ttlMs, supervisorFlags: flags = [] } = options
  writeClusterConfig(paths, config)
  const { ready } = spawnSupervisor({
    paths,
    clusterId: config.id,
    programs,
    lifetime,
    parent,
    ttlMs,
    flags,
  })
  const token = createBootstrapToken(options.clock)
  const specs = planCluster(config, paths)
  const files = { config, paths, token: formatToken(token) }
  await Promise.all([
    ready,
    pki === undefined ? writePlannedFiles(specs, files) : prepareCluster(specs, { ...files, pki }),
  ])
  return { control: await connectControl(paths), token }
}

/** The stored configuration; with a console from now on, if one is asked for. */
function withConsole(stored: ClusterConfig, options: LaunchOptions): ClusterConfig {
  return options.console === true ? { ...stored, console: true } : stored
}

/**
 * Creates or resumes the cluster and starts its supervisor. On failure a new cluster's directory is removed; a resumed one's is
 * kept.
 */
export async function launchCluster(options: LaunchOptions): Promise<LaunchedCluster> {
  const { clock } = options
  const paths = statePaths(options.stateRoot, options.name)
  // A stored cluster has settings of its own. Wrong ones of a new cluster leave no folder, not even that of all clusters.
  if (!existsSync(paths.config)) {
    checkSettings(options)
    if (options.store === 'etcd') await pathOfEtcd(options.etcdBinary, environment)
  }
  const lock = await placeForStart(paths, options)
  const isNew = statSync(paths.config, { throwIfNoEntry: false }) === undefined
  const start: Start = { paths, lock, isNew, id: undefined }
  const undo = (): Promise<void> => undoStart(start, clock)
  try {
    refuseReplaced(options.name, paths)
    const stored = readClusterConfig(paths)
    start.id = stored?.id
    if (stored !== undefined) await checkStored(stored, paths, options)
    const made: Made =
      stored === undefined ? await newCluster(options) : { config: withConsole(stored, options) }
    const { config, pki } = made
    start.id = config.id
    const { etcdWaitMs: waitMs } = options
    if (waitMs !== undefined)
      await checkEtcd(config, { paths, files: pki?.etcdFiles, waitMs, clock })
    const initialState = options.from === undefined ? undefined : resolve(options.from)
    if (initialState !== undefined) writePrivateFile(paths.startsFrom, initialState)
    const { control, token } = await startSupervisor(made, paths, options)
    const { followsInterrupted, release } = lock
    const mayBegin =
      stored === undefined && initialState === undefined && options.controlPlane === undefined
    const baseImage = mayBegin ? baseImageFor(config, options.programs) : undefined
    const launched = { config, paths, control, token, initialState, baseImage, followsInterrupted }
    return { ...launched, resumed: !isNew, release, undo }
  } catch (error) {
    await undo()
    return withClearErrors(paths.dir, () => {
      throw error
    })
  }
}
