/** NodeAgent: the process: one node, or many simulated ones, that share a runtime, a server and a bootstrap token. */
import { mkdir, readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { connectionFrom, readKubeconfig } from '../client/kubeconfig.ts'
import type { ComponentContext } from '../component-base/component.ts'
import { StartError } from '../component-base/component.ts'
import { environment as processEnvironment } from '../component-base/environment.ts'
import { createAgentServer } from './server/agent-server.ts'
import type { Bootstrapper } from './join/bootstrap.ts'
import { createBootstrapper } from './join/bootstrap.ts'
import { writeCheckpointArchive } from './runtime/checkpoint-archive.ts'
import { createDevicePlugins, type DevicePlugins } from './device-plugins/device-plugins.ts'
import { createEventLimit } from './node/event-limit.ts'
import { renewIntervalOf } from './node/heartbeat.ts'
import type { HostWatch } from './node/host-watch.ts'
import { createHostWatch } from './node/host-watch.ts'
import type { JoinReport } from './join/join-progress.ts'
import { createJoinReporter, JoinError, writeStatusLine } from './join/join-progress.ts'
import { establishIdentity } from './join/node-identity.ts'
import { createNodeMetrics } from './node/node-metrics.ts'
import type { NodeEnvironment, RunningNode } from './node/node.ts'
import { createNode } from './node/node.ts'
import type { nodeAgentFlags } from './options.ts'
import type { NodeFolders, Settings } from './settings.ts'
import type { ServicesFor } from './pods/service-variables.ts'
import { createServiceWatch } from './pods/service-variables.ts'
import { settingsOf } from './settings.ts'
import { SimulatedRuntime } from './runtime/simulated-runtime.ts'
import { runWatchdog, systemdNotify, watchdogInterval } from './node/watchdog.ts'

type Context = ComponentContext<typeof nodeAgentFlags>

/** How many nodes of a process join at the same time. */
const joinsAtOnce = 16
const runtimeVersion = '0.1.0'
/** The slow facts about the host are found out when the start is well over. */
const refineAfterMs = 3000

async function bootstrapperOf(
  { options, clock, log }: Context,
  { dialect }: Settings,
): Promise<Bootstrapper | undefined> {
  const { server, 'bootstrap-token': token, 'bootstrap-kubeconfig': file } = options
  const common = { dialect, pins: options['discovery-token-ca-cert-hash'], clock, log }
  if (file !== undefined) {
    const { ca, credentials, ...found } = await connectionFrom(await readKubeconfig(file))
    if (typeof credentials?.token !== 'string' || ca === undefined) {
      throw new StartError(`--bootstrap-kubeconfig ${file} must hold a token and an authority`)
    }
    const address = server ?? found.server
    const cluster = { server: address, ca: ca.toString() }
    return createBootstrapper({ ...common, server: address, token: credentials.token, cluster })
  }
  if (token === undefined) return undefined
  if (server === undefined) throw new StartError('--bootstrap-token needs --server')
  return createBootstrapper({ ...common, server, token })
}

async function environmentOf(
  { options, clock, log }: Context,
  settings: Settings,
  more: {
    host: HostWatch
    devices: DevicePlugins
    servicesFor: ServicesFor
    serverPort: () => Promise<number>
  },
): Promise<NodeEnvironment> {
  const caFile = options['client-ca-file']
  return {
    dialect: settings.dialect,
    runtime: new SimulatedRuntime({
      clock,
      version: runtimeVersion,
      writeCheckpoint: writeCheckpointArchive,
    }),
    host: more.host.info,
    hostPressure: more.host.pressure,
    resources: settings.resources,
    devices: more.devices.resources,
    servicesFor: more.servicesFor,
    allowedUnsafeSysctls: settings.allowedUnsafeSysctls,
    nodeIp: settings.nodeIp,
    podRange: options['pod-cidr'],
    serverPort: more.serverPort,
    clientCa: caFile === undefined ? undefined : await readFile(caFile, 'utf8'),
    mayRecord: createEventLimit({
      perSecond: options['event-qps'],
      burst: options['event-burst'],
      clock,
    }),
    lookEveryMs: options['node-status-update-frequency'],
    leaseDurationSeconds: options['node-lease-duration-seconds'],
    isRegistering: options['register-node'],
    isRotating: options['rotate-certificates'],
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

/**
 * The agent's whole life. Rejects with a StartError when it cannot join or start as it was told to. `writeStatus` gets
 * every report on the way into the cluster; by default they go to descriptor 3.
 */
export async function runNodeAgent(
  context: Context,
  writeStatus: (report: JoinReport) => void = writeStatusLine,
): Promise<void> {
  const { options, clock, log, signal } = context
  const settings = settingsOf(options)
  for (const warning of settings.warnings) log.warn(warning)
  const [first] = settings.nodes as [NodeFolders]
  const rootDir = options['root-dir']
  try {
    await mkdir(rootDir, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new StartError(`--root-dir ${rootDir} cannot be made: ${(error as Error).message}`, error)
  }
  const bootstrapper = await bootstrapperOf(context, settings)
  const host = createHostWatch({
    thresholds: settings.resources.evictionHard,
    folder: rootDir,
    freshMs: options['node-status-update-frequency'],
    clock,
    log,
  })
  const running: RunningNode[] = []
  const { 'tls-cert-file': cert, 'tls-private-key-file': key } = options
  const dnsNames = [...new Set([first.nodeName, hostname().toLowerCase(), 'localhost'])]
  const agentServer = await createAgentServer({
    host: options.address,
    port: options.port,
    names: {
      nodeName: first.nodeName,
      // The cluster's signer takes only the node's own names; the certificate of a crowd is good for all by address.
      dnsNames: options['rotate-server-certificates'] ? [first.nodeName] : dnsNames,
      ipAddresses: isIP(settings.nodeIp) === 0 ? [] : [settings.nodeIp],
    },
    files: cert === undefined || key === undefined ? undefined : { cert, key },
    isSigned: options['rotate-server-certificates'],
    certDir: first.certDir,
    nodes: () => running,
    servesCheckpoints: settings.gates.ContainerCheckpoint,
    metrics: createNodeMetrics({ showHidden: settings.showsHiddenMetrics }),
    clock,
    log,
  })
  const { server } = agentServer
  const devices = createDevicePlugins({
    folder: join(rootDir, 'device-plugins'),
    dialect: settings.dialect,
    onChange: () => {
      for (const node of running) node.wake()
    },
    log,
  })
  const services = createServiceWatch({ clock, log })
  const environment = await environmentOf(context, settings, {
    host,
    devices,
    servicesFor: services.servicesFor,
    serverPort: async () => (await server.ready).port,
  })

  const stop = new AbortController()
  const whole = AbortSignal.any([signal, stop.signal])
  const aborted = new Promise<void>((resolve) => {
    whole.addEventListener('abort', () => resolve(), { once: true })
  })
  const parts: Promise<void>[] = []
  let failure: { error: unknown } | undefined
  const start = (part: Promise<void>): void => {
    // Whatever fails ends the rest.
    const guarded = part.catch((error: unknown) => {
      if (!whole.aborted) failure = { error }
      stop.abort(error)
    })
    parts.push(guarded)
  }

  const startNode = async (folders: NodeFolders, index: number): Promise<void> => {
    const { nodeName } = folders
    const report = createJoinReporter({ log, node: nodeName, write: writeStatus })
    const identity = await establishIdentity(
      { ...folders, server: options.server, bootstrapper, clock, log, report },
      whole,
    )
    const node = createNode(
      identity,
      {
        registration: { nodeName, ...settings.registration },
        rootDir: folders.rootDir,
        certDir: folders.certDir,
        heartbeatDelayMs:
          (renewIntervalOf(options['node-lease-duration-seconds']) * index) / settings.nodes.length,
        report,
      },
      environment,
    )
    running.push(node)
    // A signal of its own: adding to the listeners of one that all nodes share takes longer with every node.
    const own = new AbortController()
    whole.addEventListener('abort', () => own.abort(whole.reason), { once: true })
    // It may have come while the node got its identity.
    if (whole.aborted) own.abort(whole.reason)
    start(node.run(own.signal))
    // All nodes of a process see the same services.
    if (index === 0) start(services.follow(node.client, whole))
    await Promise.race([node.ready, aborted])
  }

  const work = async (): Promise<void> => {
    const { port } = await server.ready
    try {
      await forEach(settings.nodes, joinsAtOnce, startNode)
    } catch (error) {
      if (!(error instanceof JoinError)) throw error
      throw new StartError(`cannot join, ${error.step}: ${error.message} (${error.hint})`, error)
    } finally {
      bootstrapper?.close()
    }
    if (whole.aborted) return
    const nodes = settings.isCrowd ? { nodes: running.length } : { node: first.nodeName }
    context.ready({ port, ...nodes })
    const client = running[0]?.client
    if (client !== undefined) start(agentServer.rotate(client, whole))
    if (!settings.isCrowd) {
      await clock.sleep(refineAfterMs, whole)
      await host.refine()
      for (const node of running) node.wake()
    }
  }

  const watchdog = async (): Promise<void> => {
    if (processEnvironment['NOTIFY_SOCKET'] === undefined) return
    const notify = systemdNotify(log)
    await notify('READY=1')
    const intervalMs = watchdogInterval(processEnvironment, process.pid)
    if (!settings.gates.SystemdWatchdog || intervalMs === undefined) return
    const isHealthy = (): boolean => running.every((node) => node.fault() === undefined)
    await runWatchdog({ intervalMs, notify, isHealthy, clock, log }, whole)
  }

  start(server.run(whole))
  start(work())
  start(watchdog())
  // Simulated nodes have no devices of their own to tell apart.
  if (!settings.isCrowd) start(devices.run(whole))
  // Parts that start later are waited for too.
  for (let index = 0; index < parts.length; index++) await parts[index]
  if (failure !== undefined) throw failure.error
}
