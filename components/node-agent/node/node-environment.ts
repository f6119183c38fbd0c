/** NodeEnvironment: what the nodes of one process have in common. */
import type { Dialect } from '../../api/dialect.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Files } from '../../component-base/files.ts'
import type { Gate } from '../../component-base/gate.ts'
import type { LocalNetwork } from '../../component-base/local-network.ts'
import type { UnderWay } from '../../component-base/under-way.ts'
import type { Log } from '../../component-base/log.ts'
import type { DevicePlugins } from '../device-plugins/device-plugins.ts'
import type { ServicesFor } from '../pods/service-variables.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import type { EvictionThreshold, Pressure } from './eviction-thresholds.ts'
import type { HeartbeatGates } from './heartbeat.ts'
import type { HostInfo } from './host-info.ts'
import type { HostResources, NodeResourceOptions } from './node-resources.ts'

/** Facts, limits and tools that all nodes of a process share. */
export interface NodeEnvironment {
  readonly dialect: Dialect
  readonly runtime: ContainerRuntime
  readonly host: () => HostInfo
  /** Pressure on the host, as last measured. */
  readonly hostPressure: () => Promise<Pressure>
  readonly files: Files
  readonly network: LocalNetwork | undefined
  /** Counts the node's requests. */
  readonly underWay: UnderWay | undefined
  readonly resources: NodeResourceOptions & { readonly evictionHard: readonly EvictionThreshold[] }
  /** What these make of the host. */
  readonly hostResources: HostResources
  /** Resources that device plugins brought. */
  readonly devices: DevicePlugins['resources']
  readonly nodeIp: string
  readonly podRange: string | undefined
  /** The port of the process's server. */
  readonly serverPort: () => Promise<number>
  readonly clientCa: string | undefined
  readonly servicesFor: ServicesFor
  readonly allowedUnsafeSysctls: readonly string[]
  readonly mayRecord: () => boolean
  /** What the process writes of pods passes it; heartbeats do not wait for that. */
  readonly podGate: Gate
  /** The heartbeats of the process pass it. */
  readonly heartbeatGates: HeartbeatGates
  readonly lookEveryMs: number
  readonly leaseDurationSeconds?: number
  readonly isRegistering: boolean
  readonly isRotating: boolean
  readonly configz: object
  readonly showsHiddenMetrics: boolean
  readonly clock: Clock
  readonly log: Log
}
