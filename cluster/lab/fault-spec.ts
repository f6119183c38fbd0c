/** FaultSpec: a fault as a user declares it, in a scenario, by code, or by `skiff fault add`. Exactly one kind is named. */
import type {
  RequestAction,
  RequestMatch,
  StoreFault,
} from '../../components/component-base/request-fault.ts'

/** A part of the cluster: a component's name (`scheduler`, `api-server-2`) or a node's. */
export type Part = string

export interface NetworkFault {
  readonly from: Part
  readonly to: Part
  /** `both`: also from `to` to `from`. Default. */
  readonly direction?: 'one-way' | 'both'
  /** `cut`: nothing arrives. `half-open`: connections stay open, and nothing arrives on them; new ones are accepted. */
  readonly action:
    | 'cut'
    | 'half-open'
    | { readonly delayMs: number; readonly jitterMs?: number }
    | { readonly loss: number }
    | { readonly bytesPerSecond: number }
}

export interface ProcessFault {
  readonly part: Part
  /** `starve`: it gets a tenth of its time. `lose-lease`: another holds its leader election lease. */
  readonly action: 'kill' | 'freeze' | 'starve' | 'lose-lease'
}

export interface ClockFault {
  readonly part: Part
  /** Negative: behind. */
  readonly aheadMs: number
}

export interface CertificateFault {
  readonly part: Part
  readonly is: 'expired' | 'not-yet-valid' | 'of-another-authority'
}

export interface NodeFault {
  readonly node: Part
  readonly is:
    'memory-pressure' | 'disk-pressure' | 'pid-pressure' | 'runtime-down' | 'rebooted' | 'disk-lost'
}

export interface FaultKinds {
  readonly requests: { readonly match: RequestMatch; readonly action: RequestAction }
  readonly store: StoreFault['action']
  readonly network: NetworkFault
  readonly process: ProcessFault
  readonly clock: ClockFault
  readonly certificate: CertificateFault
  readonly node: NodeFault
}

export type FaultKind = keyof FaultKinds

export type FaultSpec = {
  /** In messages, and to heal it. Default: its kind and a number. */
  readonly name?: string
  /** It ends after it has fired this often, or after this time of the cluster's clock; without either it lasts until it is healed. */
  readonly times?: number
  readonly forMs?: number
  readonly chance?: number
  readonly seed?: number
} & { readonly [K in FaultKind]: { readonly kind: K; readonly fault: FaultKinds[K] } }[FaultKind]

export interface FaultStatus {
  readonly name: string
  readonly spec: FaultSpec
  readonly fired: number
  /** Undefined while it is active. */
  readonly ended?: 'times' | 'time' | 'healed'
  readonly sinceMs: number
}
