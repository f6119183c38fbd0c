/** Node: one node's life: identity, registration, heartbeat, status, pods, certificate rotation. */
import { isIPv4 } from 'node:net'
import { nodeSubject } from '../../../certs/profiles.ts'
import { apiKey } from '../../api/dialect.ts'
import type {
  CertificateSigningRequest,
  Lease,
  Node as NodeObject,
  NodeAddress,
  NodeStatus,
  Pod,
} from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import { createClient, type Client } from '../../client/client.ts'
import { createDelegatedAuth } from '../../client/delegated-auth.ts'
import { createEventRecorder } from '../../client/event-recorder.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import { createInformerFactory } from '../../client/informer.ts'
import { createRestObserver } from '../../client/rest-metrics.ts'
import type { RestObserver } from '../../client/rest-observer.ts'
import type { Informer, InformerFactory } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { messageOf } from '../../component-base/log.ts'
import type { Log } from '../../component-base/log.ts'
import { createAnnotationEvents } from '../pods/annotation-events.ts'
import { clientSigner } from '../join/bootstrap.ts'
import type { IssuedCertificate } from '../join/certificate-request.ts'
import { requestCertificate } from '../join/certificate-request.ts'
import { runHeartbeat } from './heartbeat.ts'
import type { ReportJoin } from '../join/join-progress.ts'
import { clientCredentialFile, writeNodeCredential } from '../join/node-credential.ts'
import type { NodeIdentity } from '../join/node-identity.ts'
import type { NodeEnvironment } from './node-environment.ts'
import { createNodeMetrics } from './node-metrics.ts'
import { createNodeReporter } from './node-reporter.ts'
import type { NodeReporter } from './node-reporter.ts'
import { withAdvertised, withDevices } from './node-resources.ts'
import { nodeStatusOf } from './node-status.ts'
import type { NodeStatusInput } from './node-status.ts'
import { defaultPodRange, PodAddresses } from '../pods/pod-addresses.ts'
import { createPodAdmission } from '../pods/pod-admission.ts'
import { ProbeCounts } from '../pods/probe-counts.ts'
import { createPodEnvironment } from '../pods/pod-environment.ts'
import { createPodLoop, podWrites } from '../pods/pod-loop.ts'
import type { PodLoop } from '../pods/pod-loop.ts'
import type { Turn } from './turn.ts'
import type { Registration } from './register.ts'
import { nodeLabels, registerNode } from './register.ts'
import { runRotation } from '../join/rotate-certificate.ts'
import type { ServedNode } from '../server/server.ts'
import { createPodVolumes } from '../pods/pod-volumes.ts'
import { annotationFaults, nodeWish } from '../../api/simulation.ts'
import { nodeUsage } from './node-usage.ts'

export interface NodeSettings {
  readonly registration: Registration
  readonly rootDir: string
  readonly certDir: string
  /** When it renews its lease and repeats its status; undefined for the one node of a process, which does so from its start on. */
  readonly turn: Turn | undefined
  readonly report: ReportJoin
}

export interface RunningNode extends ServedNode {
  readonly client: Client
  /** Resolves when the node is registered, its status reported and its pods known. */
  readonly ready: Promise<void>
  /** Reports at once: something about the host changed. */
  wake(): void
  run(signal: AbortSignal): Promise<void>
}

/** Requests the node's next client certificate, with a new key. */
function requestClientCertificate(
  client: Client,
  nodeName: string,
  environment: NodeEnvironment,
  signal: AbortSignal,
): Promise<IssuedCertificate> {
  const { dialect, clock, log } = environment
  const csrs = resourcesOf(dialect).certificateSigningRequests
  return requestCertificate(
    {
      csrs: client.resource<CertificateSigningRequest>(csrs),
      wish: {
        signerName: clientSigner(dialect),
        subject: nodeSubject(nodeName),
        usages: ['digital signature', 'client auth'],
      },
      clock,
      log,
    },
    signal,
  )
}

function addressesOf(nodeIp: string, nodeName: string): NodeAddress[] {
  return [
    { type: 'InternalIP', address: nodeIp },
    { type: 'Hostname', address: nodeName },
  ]
}

/** The tools and the state of one node. */
interface NodeState {
  readonly nodeName: string
  readonly identity: NodeIdentity
  readonly settings: NodeSettings
  readonly environment: NodeEnvironment
  readonly client: Client
  readonly informers: InformerFactory
  readonly ownNode: Informer<NodeObject>
  readonly recorder: EventRecorder
  readonly log: Log
  /** The Node object as last seen; undefined before registration. */
  self: NodeObject | undefined
  reporter: NodeReporter | undefined
  pods: PodLoop | undefined
  readonly probes: ProbeCounts
  readonly addresses: PodAddresses
  /** The range of the cluster that `addresses` follow. */
  podRange: string | undefined
}

/** A node that is ready to run; it sends nothing before `run`. */
export function createNode(
  identity: NodeIdentity,
  settings: NodeSettings,
  environment: NodeEnvironment,
): RunningNode {
  const { runtime, clock } = environment
  const { nodeName } = settings.registration
  const pods = (): readonly Pod[] => state.pods?.pods() ?? []
  const metrics = createNodeMetrics({ name: nodeName, pods }, environment.showsHiddenMetrics)
  const observer = createRestObserver(metrics, clock)
  const state = createState(identity, settings, { environment, observer })
  const { client } = state
  const startedMs = clock.now()
  const clientCa = (): string => environment.clientCa ?? identity.ca
  const { promise: ready, resolve: nowReady } = Promise.withResolvers<void>()
  return {
    name: nodeName,
    rootDir: environment.files.diskOf(settings.rootDir),
    runtime,
    auth: createDelegatedAuth({ client, clock, clientCa }),
    client,
    ready,
    fault: () => faultOf(state),
    pods,
    container: (namespace, pod, container) => state.pods?.container(namespace, pod, container),
    usage: () =>
      nodeUsage({
        nodeName,
        startedMs,
        nowMs: clock.now(),
        pods: pods(),
        container: (...names) => state.pods?.container(...names),
        runtime,
        capacity: state.self?.status?.capacity,
      }),
    metrics,
    probeMetrics: () => state.probes.metrics(pods()),
    configz: () => environment.configz,
    wake: () => state.reporter?.wake(),
    run: async (signal) => {
      try {
        await runNode(state, nowReady, signal)
      } catch (error) {
        if (!signal.aborted) throw error
      } finally {
        state.pods?.abandon()
        client.close()
      }
    },
  }
}

function createState(
  identity: NodeIdentity,
  settings: NodeSettings,
  {
    environment,
    observer,
  }: { readonly environment: NodeEnvironment; readonly observer: RestObserver },
): NodeState {
  const { dialect, clock } = environment
  const { nodeName } = settings.registration
  const log = environment.log.with({ node: nodeName })
  const resources = resourcesOf(dialect)
  const { server, serverName, ca, credentials } = identity
  const client = createClient({
    server,
    ...(serverName === undefined ? {} : { serverName }),
    ca,
    credentials,
    network: environment.network,
    underWay: environment.underWay,
    userAgent: 'kubelet',
    observer,
    dialect,
    clock,
    log,
  })
  // Thousands of nodes that each list and watch two kinds send half as many requests this way.
  const initialEventsEnd = apiKey(dialect, '', 'initial-events-end')
  const informers = createInformerFactory(client, clock, log, { initialEventsEnd })
  const ownNode = informers.informer<NodeObject>(resources.nodes, {
    fieldSelector: `metadata.name=${nodeName}`,
  })
  const recorder = createEventRecorder({
    events: client.resource(resources.events),
    component: 'kubelet',
    host: nodeName,
    clock,
    log,
  })
  const { podRange = defaultPodRange(nodeName, environment.resources.maxPods) } = environment
  const addresses = new PodAddresses(podRange)
  const probes = new ProbeCounts()
  const unset = { self: undefined, reporter: undefined, pods: undefined, podRange: undefined }
  const given = { nodeName, identity, settings, environment }
  return { ...given, client, informers, ownNode, recorder, log, addresses, probes, ...unset }
}

/** Registers the node, then runs its parts until the signal aborts or one of them fails. */
async function runNode(state: NodeState, nowReady: () => void, signal: AbortSignal): Promise<void> {
  const { informers, recorder } = state
  const { self, created } = await register(state, signal)
  state.self = self
  followRange(state, self)
  const reporter = startReporter(state, self, created)
  startPods(state)
  const running = [
    beat(state, { self, isNew: created !== undefined }, signal),
    reporter.run(signal),
    informers.run(signal),
    recorder.run(signal),
    rotate(state, signal),
  ]
  void Promise.all([reporter.reported, informers.ready()]).then(() => nowReady())
  await Promise.all(running)
}

function nodesOf({ client, environment }: NodeState): ResourceClient<NodeObject> {
  return client.resource<NodeObject>(resourcesOf(environment.dialect).nodes)
}

function faultOf({ nodeName, environment, ownNode }: NodeState): string | undefined {
  const why = nodeWish(ownNode.get(nodeName)?.metadata.annotations, 'runtimeDown')
  return why ? `container runtime is down: ${why}` : environment.runtime.fault()
}

async function observe(state: NodeState): Promise<Omit<NodeStatusInput, 'nowMs'>> {
  const { nodeName, environment, ownNode } = state
  const { dialect, runtime, host, nodeIp } = environment
  const { metadata, status } = ownNode.get(nodeName) ?? {}
  const annotations = metadata?.annotations
  const own = withDevices(environment.hostResources(host()), environment.devices())
  const measured = await environment.hostPressure()
  return {
    host: host(),
    ...withAdvertised(own, status, dialect),
    addresses: addressesOf(nodeIp, nodeName),
    port: await environment.serverPort(),
    runtimeVersion: `${runtime.name}://${runtime.version}`,
    pressure: {
      memory: measured.memory || nodeWish(annotations, 'memoryPressure') === true,
      disk: measured.disk || nodeWish(annotations, 'diskPressure') === true,
      processes: measured.processes || nodeWish(annotations, 'pidPressure') === true,
    },
    fault: faultOf(state),
  }
}

/** `created` is the status of a Node that was not there before. */
async function register(
  state: NodeState,
  signal: AbortSignal,
): Promise<{ readonly self: NodeObject; readonly created: NodeStatus | undefined }> {
  const { nodeName, environment, settings, log } = state
  const { registration, report } = settings
  const { dialect, host, clock } = environment
  const nodes = nodesOf(state)
  if (!environment.isRegistering)
    return { self: await nodes.get({ name: nodeName }, { signal }), created: undefined }
  report({ step: 'register', state: 'running' })
  const first = nodeStatusOf({ ...(await observe(state)), nowMs: clock.now() }, undefined)
  const labels = nodeLabels(dialect, host(), registration)
  const { node, isNew } = await registerNode(
    { nodes, registration, labels, status: () => first, clock, log },
    signal,
  )
  report({ step: 'register', state: 'done' })
  return { self: node, created: isNew ? first : undefined }
}

/** The reporter of the node's status, woken by every change of the Node object. */
function startReporter(
  state: NodeState,
  self: NodeObject,
  created: NodeStatus | undefined,
): NodeReporter {
  const { nodeName, environment, settings, ownNode, recorder, log } = state
  const { lookEveryMs, clock } = environment
  const reporter = createNodeReporter({
    nodes: nodesOf(state),
    nodeName,
    observe: () => observe(state),
    initial: self.status,
    created,
    lookEveryMs,
    turn: settings.turn,
    clock,
    log,
  })
  state.reporter = reporter
  const recordFaults = createAnnotationEvents((event) => {
    if (!environment.mayRecord() || state.self === undefined) return
    recorder.record({ apiVersion: 'v1', kind: 'Node', metadata: state.self.metadata }, event)
  })
  ownNode.onEvent(({ type, object }) => {
    if (type !== 'delete') state.self = object
    followRange(state, object)
    recordFaults(annotationFaults('Node', object.metadata.annotations))
    reporter.seen(object.status)
    reporter.wake()
  })
  return reporter
}

/**
 * Takes pod addresses from the range that the cluster gave the node, unless the agent has one of its own. Pods that start before
 * the node has a range keep what they got.
 */
function followRange(state: NodeState, self: NodeObject | undefined): void {
  const { environment, addresses, log } = state
  const { podCIDR, podCIDRs = [podCIDR ?? ''] } = self?.spec ?? {}
  const given = podCIDRs.find((one) => isIPv4(one.split('/')[0] ?? ''))
  if (environment.podRange !== undefined || given === undefined || given === state.podRange) return
  state.podRange = given
  try {
    addresses.useRange(given)
  } catch (error) {
    log.warn('cannot take pod addresses from the range of the node', { why: messageOf(error) })
  }
}

function startPods(state: NodeState): void {
  const { nodeName, environment, client, informers, recorder, log } = state
  const { dialect, runtime, servicesFor, allowedUnsafeSysctls, clock } = environment
  const resources = resourcesOf(dialect)
  followRange(state, state.self)
  const allocatable = () => state.self?.status?.allocatable ?? {}
  const pods = createPodLoop({
    runtime,
    addresses: state.addresses,
    hostIp: environment.nodeIp,
    record: ({ metadata }, { type, reason, message }) => {
      if (!environment.mayRecord()) return
      recorder.record({ apiVersion: 'v1', kind: 'Pod', metadata }, { type, reason, message })
    },
    environment: createPodEnvironment({ client, servicesFor, allocatable }),
    onProbe: (probe) => state.probes.count(probe),
    volumes: createPodVolumes(client),
    admit: createPodAdmission({ dialect, allocatable, allowedUnsafeSysctls }),
    ...podWrites(client.resource<Pod>(resources.pods), environment.podGate),
    clock,
    log,
  })
  state.pods = pods
  const selection = { fieldSelector: `spec.nodeName=${nodeName}` }
  informers.informer<Pod>(resources.pods, selection).onEvent((event) => pods.onEvent(event))
}

/** Renews the node's lease until the signal aborts. */
function beat(
  state: NodeState,
  { self, isNew }: { readonly self: NodeObject; readonly isNew: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { nodeName, client, log } = state
  const { dialect, clock, leaseDurationSeconds, heartbeatGates } = state.environment
  const owner = { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: self.metadata.uid ?? '' }
  return runHeartbeat(
    {
      leases: client.resource<Lease>(resourcesOf(dialect).leases),
      namespace: dialect.nodeLeaseNamespace,
      nodeName,
      owner: () => owner,
      isNew,
      clock,
      log,
      ...(leaseDurationSeconds === undefined ? {} : { leaseDurationSeconds }),
      turn: state.settings.turn,
      gates: heartbeatGates,
    },
    signal,
  )
}

async function rotate(state: NodeState, signal: AbortSignal): Promise<void> {
  const { nodeName, identity, environment, settings, client, log } = state
  const { certificate } = identity
  if (!environment.isRotating || certificate === undefined) return
  await runRotation(
    {
      current: certificate,
      request: (until) => requestClientCertificate(client, nodeName, environment, until),
      onRotated: async (next) => {
        await writeNodeCredential(settings.certDir, clientCredentialFile, next, environment.files)
        client.rest.setCredentials(next)
      },
      clock: environment.clock,
      log,
    },
    signal,
  )
}
