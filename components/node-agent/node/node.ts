/** Node: one node's life: identity, registration, heartbeat, status, pods, certificate rotation. */
import { nodeSubject } from '../../../certs/profiles.ts'
import type { Dialect } from '../../api/dialect.ts'
import type {
  CertificateSigningRequest,
  Lease,
  Node as NodeObject,
  NodeAddress,
  Pod,
} from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/client.ts'
import { createDelegatedAuth } from '../../client/delegated-auth.ts'
import { createEventRecorder } from '../../client/event-recorder.ts'
import { createInformerFactory } from '../../client/informer.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { createAnnotationEvents } from '../pods/annotation-events.ts'
import { clientSigner } from '../join/bootstrap.ts'
import type { IssuedCertificate } from '../join/certificate-request.ts'
import { requestCertificate } from '../join/certificate-request.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import type { EvictionThreshold, Pressure } from './eviction-thresholds.ts'
import { runHeartbeat } from './heartbeat.ts'
import type { HostInfo } from './host-info.ts'
import type { ReportJoin } from '../join/join-progress.ts'
import { clientCredentialFile, writeNodeCredential } from '../join/node-credential.ts'
import type { NodeIdentity } from '../join/node-identity.ts'
import { createNodeReporter } from './node-reporter.ts'
import { nodeResources, withAdvertised, withDevices } from './node-resources.ts'
import type { NodeResourceOptions } from './node-resources.ts'
import { nodeStatusOf } from './node-status.ts'
import type { NodeStatusInput } from './node-status.ts'
import { defaultPodRange, PodAddresses } from '../pods/pod-addresses.ts'
import { createPodAdmission } from '../pods/pod-admission.ts'
import { createPodEnvironment } from '../pods/pod-environment.ts'
import { createPodLoop, podWrites } from '../pods/pod-loop.ts'
import type { DevicePlugins } from '../device-plugins/device-plugins.ts'
import type { Registration } from './register.ts'
import { nodeLabels, registerNode } from './register.ts'
import { runRotation } from '../join/rotate-certificate.ts'
import type { ServedNode } from '../server/server.ts'
import type { ServicesFor } from '../pods/service-variables.ts'
import { annotationFaults, nodeWish } from '../../api/simulation.ts'
import { statsSummary } from './stats-summary.ts'

/** What all nodes of a process have in common. */
export interface NodeEnvironment {
  readonly dialect: Dialect
  readonly runtime: ContainerRuntime
  readonly host: () => HostInfo
  /** Pressure on the host, as last measured. */
  readonly hostPressure: () => Promise<Pressure>
  readonly resources: NodeResourceOptions & { readonly evictionHard: readonly EvictionThreshold[] }
  /** Resources that device plugins brought. */
  readonly devices: DevicePlugins['resources']
  readonly nodeIp: string
  readonly podRange: string | undefined
  /** Where the process's server listens. */
  readonly serverPort: () => Promise<number>
  readonly clientCa: string | undefined
  readonly servicesFor: ServicesFor
  readonly allowedUnsafeSysctls: readonly string[]
  readonly mayRecord: () => boolean
  readonly lookEveryMs: number
  readonly leaseDurationSeconds?: number
  readonly isRegistering: boolean
  readonly isRotating: boolean
  readonly configz: object
  readonly clock: Clock
  readonly log: Log
}

export interface NodeSettings {
  readonly registration: Registration
  readonly rootDir: string
  readonly certDir: string
  /** When its first heartbeat is, so that nodes of one process do not all beat at once. */
  readonly heartbeatDelayMs: number
  readonly report: ReportJoin
}

export interface RunningNode extends ServedNode {
  readonly client: Client
  /** Resolves when the node is registered, its status reported and its pods known. */
  readonly ready: Promise<void>
  /** Something about the host changed: report it. */
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

/** A node that is ready to run; nothing is sent before `run`. */
export function createNode(
  identity: NodeIdentity,
  settings: NodeSettings,
  environment: NodeEnvironment,
): RunningNode {
  const { dialect, runtime, host, nodeIp, clock } = environment
  const { registration, report } = settings
  const { nodeName } = registration
  const log = environment.log.with({ node: nodeName })
  const startedMs = clock.now()
  const resources = resourcesOf(dialect)
  const client = createClient({
    server: identity.server,
    ca: identity.ca,
    credentials: identity.credentials,
    userAgent: 'kubelet',
    dialect,
    clock,
    log,
  })
  const nodes = client.resource<NodeObject>(resources.nodes)
  const auth = createDelegatedAuth({
    client,
    clock,
    clientCa: () => environment.clientCa ?? identity.ca,
  })
  const informers = createInformerFactory(client, clock, log)
  const ownNode = informers.informer<NodeObject>(resources.nodes, {
    fieldSelector: `metadata.name=${nodeName}`,
  })
  const { promise: ready, resolve: nowReady } = Promise.withResolvers<void>()
  let self: NodeObject | undefined
  let pods: ReturnType<typeof createPodLoop> | undefined

  const fault = (): string | undefined => {
    const why = nodeWish(ownNode.get(nodeName)?.metadata.annotations, 'runtimeDown')
    return why ? `container runtime is down: ${why}` : runtime.fault()
  }

  const observe = async (): Promise<Omit<NodeStatusInput, 'nowMs'>> => {
    const { metadata, status } = ownNode.get(nodeName) ?? {}
    const annotations = metadata?.annotations
    const own = withDevices(nodeResources(host(), environment.resources), environment.devices())
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
      fault: fault(),
    }
  }

  const register = async (signal: AbortSignal): Promise<NodeObject> => {
    if (!environment.isRegistering) return await nodes.get({ name: nodeName }, { signal })
    report({ step: 'register', state: 'running' })
    const first = nodeStatusOf({ ...(await observe()), nowMs: clock.now() }, undefined)
    const labels = nodeLabels(dialect, host(), registration)
    const registered = await registerNode(
      { nodes, registration, labels, status: () => first, clock, log },
      signal,
    )
    report({ step: 'register', state: 'done' })
    return registered
  }

  const rotate = async (signal: AbortSignal): Promise<void> => {
    const { certificate } = identity
    if (!environment.isRotating || certificate === undefined) return
    await runRotation(
      {
        current: certificate,
        request: (until) => requestClientCertificate(client, nodeName, environment, until),
        onRotated: async (next) => {
          await writeNodeCredential(settings.certDir, clientCredentialFile, next)
          client.rest.setCredentials(next)
        },
        clock,
        log,
      },
      signal,
    )
  }

  const recorder = createEventRecorder({
    events: client.resource(resources.events),
    component: 'kubelet',
    host: nodeName,
    clock,
    log,
  })

  const startPods = (): void => {
    const range =
      environment.podRange ??
      self?.spec?.podCIDR ??
      defaultPodRange(nodeName, environment.resources.maxPods)
    const allocatable = () => self?.status?.allocatable ?? {}
    pods = createPodLoop({
      runtime,
      addresses: new PodAddresses(range),
      hostIp: nodeIp,
      record: ({ metadata }, { type, reason, message }) => {
        if (!environment.mayRecord()) return
        recorder.record({ apiVersion: 'v1', kind: 'Pod', metadata }, { type, reason, message })
      },
      environment: createPodEnvironment({
        client,
        servicesFor: environment.servicesFor,
        allocatable,
      }),
      admit: createPodAdmission({
        dialect,
        allocatable,
        allowedUnsafeSysctls: environment.allowedUnsafeSysctls,
      }),
      ...podWrites(client.resource<Pod>(resources.pods)),
      clock,
      log,
    })
    const selection = { fieldSelector: `spec.nodeName=${nodeName}` }
    informers.informer<Pod>(resources.pods, selection).onEvent((event) => pods?.onEvent(event))
  }

  let wake = (): void => {}

  return {
    name: nodeName,
    rootDir: settings.rootDir,
    runtime,
    auth,
    client,
    ready,
    fault,
    pods: () => pods?.pods() ?? [],
    container: (namespace, pod, container) => pods?.container(namespace, pod, container),
    statsSummary: () => statsSummary({ nodeName, startedMs, pods: pods?.pods() ?? [] }),
    configz: () => environment.configz,
    wake: () => wake(),
    async run(signal) {
      try {
        self = await register(signal)
        const { uid = '' } = self.metadata
        const owner = { apiVersion: 'v1', kind: 'Node', name: nodeName, uid }
        const reporter = createNodeReporter({
          nodes,
          nodeName,
          observe,
          initial: self.status,
          lookEveryMs: environment.lookEveryMs,
          clock,
          log,
        })
        wake = reporter.wake
        const sayFaults = createAnnotationEvents((event) => {
          if (!environment.mayRecord() || self === undefined) return
          recorder.record({ apiVersion: 'v1', kind: 'Node', metadata: self.metadata }, event)
        })
        ownNode.onEvent(({ type, object }) => {
          if (type !== 'delete') self = object
          sayFaults(annotationFaults('Node', object.metadata.annotations))
          reporter.seen(object.status)
          reporter.wake()
        })
        startPods()
        const heartbeat = {
          leases: client.resource<Lease>(resources.leases),
          namespace: dialect.nodeLeaseNamespace,
          nodeName,
          owner: () => owner,
          clock,
          log,
          ...(environment.leaseDurationSeconds === undefined
            ? {}
            : { leaseDurationSeconds: environment.leaseDurationSeconds }),
          firstDelayMs: settings.heartbeatDelayMs,
        }
        const running = [
          runHeartbeat(heartbeat, signal),
          reporter.run(signal),
          informers.run(signal),
          recorder.run(signal),
          rotate(signal),
        ]
        void Promise.all([reporter.reported, informers.ready()]).then(() => nowReady())
        await Promise.all(running)
      } catch (error) {
        if (!signal.aborted) throw error
      } finally {
        pods?.abandon()
        client.close()
      }
    },
  }
}
