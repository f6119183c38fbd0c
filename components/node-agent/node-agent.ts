/** NodeAgent: the process: one node, or many simulated ones, that share a runtime, a server and a bootstrap token. */
import { hostname } from 'node:os'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { connectionFrom, readKubeconfig } from '../client/kubeconfig.ts'
import { abortListeners } from '../component-base/abort-listeners.ts'
import { aborted } from '../component-base/aborted.ts'
import { systemClock } from '../component-base/clock.ts'
import type { ComponentContext } from '../component-base/component.ts'
import { createGate } from '../component-base/gate.ts'
import { diskFiles } from '../component-base/files.ts'
import { StartError } from '../component-base/component.ts'
import { environment as processEnvironment } from '../component-base/environment.ts'
import { writeStatusLine } from '../component-base/status-line.ts'
import { openFollowedValue } from '../component-base/followed-value.ts'
import { createAgentServer } from './server/agent-server.ts'
import type { AgentServer } from './server/agent-server.ts'
import type { Bootstrapper } from './join/bootstrap.ts'
import { createBootstrapper } from './join/bootstrap.ts'
import { writeCheckpointArchive } from './runtime/checkpoint-archive.ts'
import { createDevicePlugins, type DevicePlugins } from './device-plugins/device-plugins.ts'
import { createEventLimit } from './node/event-limit.ts'
import type { HostWatch } from './node/host-watch.ts'
import { createHostWatch } from './node/host-watch.ts'
import type { JoinReport } from './join/join-progress.ts'
import { createJoinReporter, JoinError } from './join/join-progress.ts'
import { establishIdentity } from './join/node-identity.ts'
import type { NodeEnvironment } from './node/node-environment.ts'
import { followNodeFaults } from './node/node-faults.ts'
import type { RunningNode } from './node/node.ts'
import { createNode } from './node/node.ts'
import { createHostResources } from './node/node-resources.ts'
import type { nodeAgentFlags } from './options.ts'
import type { NodeFolders, Settings } from './settings.ts'
import type { ServicesFor, ServiceWatch } from './pods/service-variables.ts'
import { createServiceWatch } from './pods/service-variables.ts'
import { settingsOf } from './settings.ts'
import { SimulatedRuntime } from './runtime/simulated-runtime.ts'
import { parseUsageRules } from './runtime/usage-rules.ts'
import { turnOf } from './node/turn.ts'
import { runWatchdog, systemdNotify, watchdogInterval } from './node/watchdog.ts'

type Context = ComponentContext<typeof nodeAgentFlags>

/** How many nodes of a process join at the same time. */
const joinsAtOnce = 16
/**
 * How many writes about pods a process has under way. Thousands of nodes that report at once would keep the API server from
 * their heartbeats, and from the leases of the controllers.
 */
const podWritesAtOnce = 32
/**
 * How many heartbeats a process has under way: those of two turns of 1,250 nodes, and as many of nodes that got no answer to their last
 * one. While the API server has too much to do, leases are renewed later. Without a limit, nodes that got no answer in time would ask again and again, which leaves it with more to do; with a
 * lower one, heartbeats would get a smaller part of what it can do than the pods of the same nodes.
 */
const heartbeatsAtOnce = 64
const runtimeVersion = '0.1.0'
/** How long after the start the agent looks up the slow facts about the host. */
const refineAfterMs = 3000

async function bootstrapperOf(
  { options, network, underWay, clock, log }: Context,
  { dialect }: Settings,
): Promise<Bootstrapper | undefined> {
  const { server, 'bootstrap-token': token, 'bootstrap-kubeconfig': file } = options
  const pins = options['discovery-token-ca-cert-hash']
  const common = {
    dialect,
    pins,
    serverName: options['tls-server-name'],
    network,
    underWay,
    clock,
    log,
  }
  if (file !== undefined) {
    const {
      ca,
      credentials,
      serverName = common.serverName,
      ...found
    } = await connectionFrom(await readKubeconfig(file))
    if (typeof credentials?.token !== 'string' || ca === undefined) {
      throw new StartError(`--bootstrap-kubeconfig ${file} must hold a token and an authority`)
    }
    const address = server ?? found.server
    const cluster = { server: address, ca: ca.toString(), serverName }
    return createBootstrapper({ ...common, server: address, token: credentials.token, cluster })
  }
  if (token === undefined) return undefined
  if (server === undefined) throw new StartError('--bootstrap-token needs --server')
  return createBootstrapper({ ...common, server, token })
}

async function environmentOf(
  { options, files = diskFiles, network, underWay, clock, log }: Context,
  settings: Settings,
  more: {
    runtime: SimulatedRuntime
    host: HostWatch
    devices: DevicePlugins
    servicesFor: ServicesFor
    serverPort: () => Promise<number>
  },
): Promise<NodeEnvironment> {
  const caFile = options['client-ca-file']
  return {
    dialect: settings.dialect,
    runtime: more.runtime,
    host: more.host.info,
    hostPressure: more.host.pressure,
    resources: settings.resources,
    hostResources: createHostResources(settings.resources),
    devices: more.devices.resources,
    servicesFor: more.servicesFor,
    allowedUnsafeSysctls: settings.allowedUnsafeSysctls,
    nodeIp: settings.nodeIp,
    podRange: options['pod-cidr'],
    serverPort: more.serverPort,
    clientCa: caFile === undefined ? undefined : await files.read(caFile),
    mayRecord: createEventLimit({
      perSecond: options['event-qps'],
      burst: options['event-burst'],
      clock,
    }),
    podGate: createGate(podWritesAtOnce),
    heartbeatGates: {
      answered: createGate(heartbeatsAtOnce),
      unanswered: createGate(heartbeatsAtOnce),
    },
    lookEveryMs: options['node-status-update-frequency'],
    leaseDurationSeconds: options['node-lease-duration-seconds'],
    isRegistering: options['register-node'],
    isRotating: options['rotate-certificates'],
    showsHiddenMetrics: settings.showsHiddenMetrics,
    configz: {
      kind: 'KubeletConfiguration',
      apiVersion: `kubelet.config.${settings.dialect.apiDomain}/v1beta1`,
      address: options.address,
      port: options.port,
      maxPods: options['max-pods'],
      rotateCertificates: options['rotate-certificates'],
      serverTLSBootstrap: options['rotate-server-certificates'],
      registerNode: options['register-node'],
      featureGates: settings.gates,
    },
    files,
    network,
    underWay,
    clock,
    log,
  }
}

/** Runs `work` for every item, so many at a time; rejects with the first fault. */
async function forEach<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const left = items.entries()
  const worker = async (): Promise<void> => {
    for (const [index, item] of left) await work(item, index)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
}

/** The parts of a running agent. */
interface Agent {
  readonly context: Context
  /** When it was created; its nodes take turns from then on. */
  readonly startMs: number
  readonly settings: Settings
  readonly bootstrapper: Bootstrapper | undefined
  readonly host: HostWatch
  readonly devices: DevicePlugins
  readonly services: ServiceWatch
  readonly followRules: (signal: AbortSignal) => Promise<void>
  readonly server: AgentServer
  readonly environment: NodeEnvironment
  readonly running: RunningNode[]
  readonly parts: Parts
}

/**
 * The agent's whole life. Rejects with a StartError when it cannot join or start with its flags. `writeStatus` gets every
 * report on the way into the cluster; by default they go to descriptor 3.
 */
export async function runNodeAgent(
  context: Context,
  writeStatus: (report: JoinReport) => void = writeStatusLine,
): Promise<void> {
  const agent = await createAgent(context)
  const { settings, server, devices, followRules, parts } = agent
  parts.start(server.server.run(parts.signal))
  parts.start(joinNodes(agent, writeStatus))
  parts.start(watchdog(agent))
  parts.start(followRules(parts.signal))
  // Simulated nodes have no devices of their own, and memory holds no socket.
  const { files = diskFiles, options } = context
  const hasFolder = files.diskOf(options['root-dir']) === options['root-dir']
  if (!settings.isCrowd && hasFolder) parts.start(devices.run(parts.signal))
  await parts.ended()
}

/** The runtime, with the rules of --usage-file, and what follows that file until a signal aborts. */
async function createRuntime({ options, clock, log }: Context) {
  const runtime = new SimulatedRuntime({
    clock,
    version: runtimeVersion,
    writeCheckpoint: writeCheckpointArchive,
  })
  const path = options['usage-file']
  if (path === undefined) return { runtime, followRules: async () => {} }
  const parse = ([text = '']: readonly string[]) => parseUsageRules(text)
  const rules = await openFollowedValue([['usage-file', path]], parse)
  runtime.useRules(rules.current)
  const followRules = (signal: AbortSignal): Promise<void> =>
    rules.follow({ clock, log, signal }, (next) => runtime.useRules(next))
  return { runtime, followRules }
}

async function createAgent(context: Context): Promise<Agent> {
  const { options, files = diskFiles, clock, log, signal } = context
  const settings = settingsOf(options)
  for (const warning of settings.warnings) log.warn(warning)
  const { runtime, followRules } = await createRuntime(context)
  const rootDir = options['root-dir']
  try {
    await files.makeFolder(rootDir)
  } catch (error) {
    throw new StartError(`--root-dir ${rootDir} cannot be made: ${(error as Error).message}`, error)
  }
  const bootstrapper = await bootstrapperOf(context, settings)
  const running: RunningNode[] = []
  const wakeAll = (): void => {
    for (const node of running) node.wake()
  }
  const machine = createHostWatch({
    thresholds: settings.resources.evictionHard,
    folder: files.diskOf(rootDir),
    freshMs: options['node-status-update-frequency'],
    // The machine does not follow a cluster's clock that is advanced.
    clock: systemClock,
    log,
  })
  const faulty = { host: machine, runtime, files, folder: rootDir, changed: wakeAll }
  const { host } = await followNodeFaults(context.commands, faulty)
  const server = await serverOf(context, settings, () => running)
  const devices = createDevicePlugins({
    folder: join(rootDir, 'device-plugins'),
    dialect: settings.dialect,
    onChange: wakeAll,
    clock,
    log,
  })
  const services = createServiceWatch({ clock, log })
  const { servicesFor } = services
  const serverPort = async (): Promise<number> => (await server.server.ready).port
  const more = { runtime, host, devices, servicesFor, serverPort }
  const environment = await environmentOf(context, settings, more)
  const parts = createParts(signal)
  const watches = { host, devices, services, followRules }
  const startMs = clock.now()
  return {
    context,
    startMs,
    settings,
    bootstrapper,
    ...watches,
    server,
    environment,
    running,
    parts,
  }
}

function serverOf(
  { options, files = diskFiles, drainMs, suspension, underWay, clock, log }: Context,
  settings: Settings,
  nodes: () => readonly RunningNode[],
): Promise<AgentServer> {
  const [first] = settings.nodes as [NodeFolders]
  const { 'tls-cert-file': cert, 'tls-private-key-file': key } = options
  const dnsNames = [...new Set([first.nodeName, hostname().toLowerCase(), 'localhost'])]
  return createAgentServer({
    host: options.address,
    port: options.port,
    names: {
      nodeName: first.nodeName,
      // The cluster's signer takes only the node's own names; the certificate of a crowd is good for all by address.
      dnsNames: options['rotate-server-certificates'] ? [first.nodeName] : dnsNames,
      ipAddresses: isIP(settings.nodeIp) === 0 ? [] : [settings.nodeIp],
    },
    pair: cert === undefined || key === undefined ? undefined : { cert, key },
    isSigned: options['rotate-server-certificates'],
    certDir: first.certDir,
    files,
    drainMs,
    suspension,
    underWay,
    nodes,
    servesCheckpoints: settings.gates.ContainerCheckpoint,
    clock,
    log,
  })
}

/** Promises that end together: the first that fails aborts the signal of the others. */
interface Parts {
  readonly signal: AbortSignal
  /** Resolves when the signal aborts. */
  readonly aborted: Promise<void>
  /** A signal that follows `signal`, for one of many nodes. */
  ownSignal(): AbortSignal
  start(part: Promise<void>): void
  /** Resolves when all have ended, those started meanwhile too; rejects with the first failure. */
  ended(): Promise<void>
}

function createParts(outer: AbortSignal): Parts {
  const stop = new AbortController()
  const signal = AbortSignal.any([outer, stop.signal])
  const listeners = abortListeners(signal)
  const parts: Promise<void>[] = []
  let failure: { error: unknown } | undefined
  return {
    signal,
    aborted: aborted(signal),
    ownSignal: () => {
      const own = new AbortController()
      listeners.add(() => own.abort(signal.reason))
      return own.signal
    },
    start: (part) => {
      const guarded = part.catch((error: unknown) => {
        if (!signal.aborted) failure = { error }
        stop.abort(error)
      })
      parts.push(guarded)
    },
    ended: async () => {
      for (let index = 0; index < parts.length; index++) await parts[index]
      if (failure !== undefined) throw failure.error
    },
  }
}

/** Joins all nodes, reports the process ready, and refines what the nodes report about the host. */
async function joinNodes(agent: Agent, writeStatus: (report: JoinReport) => void): Promise<void> {
  const { context, settings, bootstrapper, host, server, running, parts } = agent
  const { signal } = parts
  const { port } = await server.server.ready
  try {
    await forEach(settings.nodes, joinsAtOnce, (folders, index) =>
      startNode(agent, folders, { index, writeStatus }),
    )
  } catch (error) {
    if (!(error instanceof JoinError)) throw error
    throw new StartError(`cannot join, ${error.step}: ${error.message} (${error.hint})`, error)
  } finally {
    bootstrapper?.close()
  }
  if (signal.aborted) return
  const nodes = settings.isCrowd
    ? { nodes: running.length }
    : { node: (settings.nodes as [NodeFolders])[0].nodeName }
  context.ready({ port, ...nodes })
  const client = running[0]?.client
  if (client !== undefined) parts.start(server.rotate(client, signal))
  if (settings.isCrowd) return
  await context.clock.sleep(refineAfterMs, signal)
  await host.refine()
  for (const node of running) node.wake()
}

/** Joins one node and runs it as a part. Resolves when it is ready. */
async function startNode(
  agent: Agent,
  folders: NodeFolders,
  { index, writeStatus }: { index: number; writeStatus: (report: JoinReport) => void },
): Promise<void> {
  const { settings, bootstrapper, services, environment, running, parts } = agent
  const { options, files = diskFiles, clock, log } = agent.context
  const { nodeName, rootDir, certDir } = folders
  // Of a crowd, the steps of one node tell how far it is; of the others only trouble is news.
  const write = index === 0 ? writeStatus : onlyTrouble(writeStatus)
  const joinLog = index === 0 ? log : { ...log, info: log.debug }
  const report = createJoinReporter({ log: joinLog, node: nodeName, write })
  const signal = parts.ownSignal()
  const identity = await establishIdentity(
    { ...folders, server: options.server, bootstrapper, files, clock, log, report },
    signal,
  )
  const registration = { nodeName, ...settings.registration }
  const turn = turnOf(index, settings.nodes.length, agent.startMs)
  const own = { registration, rootDir, certDir, turn: settings.isCrowd ? turn : undefined, report }
  const node = createNode(identity, own, environment)
  running.push(node)
  parts.start(node.run(signal))
  // All nodes of a process see the same services.
  if (index === 0) parts.start(services.follow(node.client, parts.signal))
  await Promise.race([node.ready, parts.aborted])
}

function onlyTrouble(write: (report: JoinReport) => void): (report: JoinReport) => void {
  return (report) => {
    if (report.state === 'failed' || report.state === 'waiting') write(report)
  }
}

async function watchdog({ context, settings, running, parts }: Agent): Promise<void> {
  const { clock, log } = context
  if (processEnvironment['NOTIFY_SOCKET'] === undefined) return
  const notify = systemdNotify(log)
  await notify('READY=1')
  const intervalMs = watchdogInterval(processEnvironment, process.pid)
  if (!settings.gates.SystemdWatchdog || intervalMs === undefined) return
  const isHealthy = (): boolean => running.every((node) => node.fault() === undefined)
  await runWatchdog({ intervalMs, notify, isHealthy, clock, log }, parts.signal)
}
