/**
 * What page and console say to each other over the WebSocket `/live`: JSON messages. The page subscribes to channels; the console
 * answers each subscription with one `snapshot` and then `change` messages, or with an `end`. Changes are joined: a page gets at most ten
 * messages a second of a channel.
 */
import type { OpenWatch, RequestRecord } from '../../components/api/request-record.ts'
import type { LessonStepSubscription } from './lessons.ts'

/** A pod as the map of the cluster shows it. */
export interface SlimPod {
  /** `namespace/name`. */
  readonly key: string
  readonly uid: string
  /** Empty until it is bound. */
  readonly node: string
  /** As the STATUS column of kubectl: Running, Pending, CrashLoopBackOff, Terminating. */
  readonly status: string
  readonly ready: boolean
  readonly restarts: number
  /** `ReplicaSet/web-5d4`: its controller. */
  readonly owner?: string
}

export interface SlimNode {
  readonly name: string
  readonly uid: string
  /** Of the condition Ready: `True`, `False` or `Unknown`. */
  readonly ready: string
  /** Conditions that are not as they should be: `MemoryPressure`. */
  readonly trouble: readonly string[]
  /** `key=value:Effect`. */
  readonly taints: readonly string[]
  readonly unschedulable: boolean
  readonly maxPods: number
  /** Allocatable, in thousandths of a core and in bytes. */
  readonly cpuMilli: number
  readonly memoryBytes: number
  /** When its lease was renewed last, in milliseconds since the epoch by the cluster's clock, and how long it holds. */
  readonly renewedMs?: number
  readonly leaseMs?: number
}

/** A process of the cluster, as its supervisor knows it (`cluster/control-protocol.ts`). */
export interface ComponentRow {
  readonly name: string
  readonly program: string
  readonly state: string
  readonly pid?: number
  readonly restarts: number
  readonly sinceMs: number
  readonly message?: string
}

/** The cluster's clock, as whoever may use the control socket sees it. */
export interface TimeRow {
  readonly key: 'clock'
  readonly nowMs: number
  /** 0: paused. */
  readonly speed: number
  readonly aheadMs: number
  /** Components that do not follow it. */
  readonly apart: readonly string[]
}

/** A fault of the lab, active or ended. */
export interface FaultRow {
  /** A name may be used again. */
  readonly key: string
  readonly name: string
  readonly kind: string
  /** What it matches and does, in a line. */
  readonly text: string
  readonly fired: number
  /** Undefined while it is active. */
  readonly ended?: 'times' | 'time' | 'healed'
  /** By the cluster's clock. */
  readonly sinceMs: number
  /** It ends after it has fired this often, or at this time of the cluster's clock. */
  readonly times?: number
  readonly untilMs?: number
}

/** A request of the journals of all API servers. `seq` is the console's own position. */
export interface RequestRow extends RequestRecord {
  /** Which API server answered it; absent where the cluster has one. */
  readonly server?: string
}

/** The request journal of an API server. */
export interface JournalRow {
  readonly server: string
  /**
   * `missing`: it does not answer, and is asked again. `gone`: it has left the cluster. `alone`: it is read, and the viewer may not see
   * whether there are others.
   */
  readonly state: 'read' | 'alone' | 'missing' | 'gone'
  readonly sinceMs: number
  /** It has never answered. */
  readonly isUnread?: boolean
  /** When it was missing or gone last. */
  readonly gap?: { readonly fromMs: number; readonly toMs: number }
  readonly why?: string
}

/** What the built-in monitors find, or cannot see. */
export type MonitorRow = ViolationRow | { readonly key: string; readonly note: string }

export interface ViolationRow {
  readonly key: string
  /** Of the first: 1. */
  readonly number: number
  readonly monitor: string
  readonly text: string
  /** By the cluster's clock. */
  readonly atMs: number
  /** The newest of those that show it, oldest first. */
  readonly revisions: readonly string[]
  /** Who wrote them, a line for each that is known. */
  readonly writers: readonly string[]
}

/** A Kubernetes Event, shortened. */
export interface SlimEvent {
  readonly key: string
  readonly atMs: number
  readonly type: string
  readonly reason: string
  /** `Pod default/web-1`. */
  readonly regarding: string
  readonly message: string
  readonly count: number
}

/** What is known of the cluster itself; first message of every connection. */
export interface ClusterInfo {
  readonly name: string
  readonly server: string
  readonly version: string
  readonly dialect: 'kubernetes' | 'svc'
  /** The viewer, as SelfSubjectReview names it. */
  readonly user: string
  readonly groups: readonly string[]
  /** What this viewer and this cluster offer; the page says so where something is missing. */
  readonly offers: {
    /** The request journal: Timeline with authors and causes, Requests, Join. */
    readonly journal: boolean
    /** The supervisor of a cluster on this machine: Lab. */
    readonly control: boolean
  }
  /** Why an offer is missing. */
  readonly missing: Readonly<Record<string, string>>
}

/** Key -> value of each channel; a channel is a table of rows with keys. */
export interface Channels {
  nodes: SlimNode
  pods: SlimPod
  events: SlimEvent
  /** By `seq`; rows leave when newer ones push them out. */
  requests: RequestRow
  /** Of the API servers whose requests `requests` holds or lacks. */
  journals: JournalRow
  watches: OpenWatch
  components: ComponentRow
  time: TimeRow
  faults: FaultRow
  /** Monitors run while a page subscribes. */
  monitors: MonitorRow
}
export type ChannelName = keyof Channels

/** Watches one list of the API server as a Table; the page gives `path` (`/apis/apps/v1/namespaces/a/deployments`) and its query. */
export interface TableSubscription {
  readonly path: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

/** A row of such a Table. */
export interface TableRow {
  /** The object's uid. */
  readonly key: string
  readonly namespace?: string
  readonly name: string
  /** In the order of the columns, as the server prints them. */
  readonly cells: readonly unknown[]
  readonly labels?: Readonly<Record<string, string>>
  /** The uids of its owners. */
  readonly owners?: readonly string[]
  readonly created?: string
  readonly deleted?: string
}

/** A column of a Table (upstream: meta/v1 TableColumnDefinition). */
export interface TableColumn {
  readonly name: string
  readonly type: string
  readonly format?: string
  /** 0: always shown; greater: with `-o wide`. */
  readonly priority?: number
  readonly description?: string
}

export type ToConsole =
  | { readonly subscribe: number; readonly channel: ChannelName }
  | { readonly subscribe: number; readonly table: TableSubscription }
  | { readonly subscribe: number; readonly lesson: LessonStepSubscription }
  | { readonly unsubscribe: number }

export type ToPage =
  | { readonly info: ClusterInfo }
  /** The API server answers, or does not: the page says so. `why` says it in a sentence. */
  | { readonly connected: boolean; readonly why?: string }
  /** The cluster's time, every two seconds, while it is not real time; without `nowMs` once it is again. */
  | { readonly time: { readonly nowMs?: number } }
  /**
   * Everything that there is, in parts. What came before the part that is `first` does not count any more; `more` says that another part follows.
   * Changes may come between the parts.
   */
  | {
      readonly id: number
      readonly snapshot: readonly unknown[]
      readonly first?: boolean
      readonly more?: boolean
      readonly columns?: readonly unknown[]
    }
  /** Rows that are new or other, and keys that are gone. */
  | { readonly id: number; readonly set: readonly unknown[]; readonly gone: readonly string[] }
  /** The subscription has ended: the viewer may not see it, or it does not exist. */
  | { readonly id: number; readonly end: { readonly code: number; readonly message: string } }
