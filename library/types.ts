/** The shapes of the library's API. A user imports them from `kube-skiff`. */
import type {
  Duration,
  Expectation,
  Identity,
  KubernetesObject,
  ObjectClient,
} from './object-types.ts'

export type * from './object-types.ts'

export interface NodeOptions {
  readonly name: string
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** `key=value:Effect`. */
  readonly taints?: readonly string[] | undefined
  /** Such as `{ cpu: '4', memory: '8Gi' }`; default that of this machine. */
  readonly capacity?: Readonly<Record<string, string>> | undefined
}

/** One node of the cluster. */
export interface ClusterNode {
  readonly name: string
  /** Ends its agent as a power cut does: pods stay as they are, the lease is not renewed. */
  stop(): Promise<void>
  /** Starts it again, with the same identity. Resolves when it is Ready. */
  start(): Promise<void>
  /** Ends its agent and deletes its Node. */
  remove(): Promise<void>
}

export interface ClusterClock {
  /** What time it is in the cluster. */
  now(): Date
  /** It stands still: the cluster goes on to serve, and nothing falls due. */
  pause(): Promise<void>
  /** It goes on, at the speed it had before. */
  resume(): Promise<void>
  /** How many times as fast as real time it runs, 0.01 to 1000; slower where the cluster cannot keep up. */
  speed(times: number): Promise<void>
  /**
   * Everything that is due on the way happens in its order; resolves when no request to the API server is under way that follows from
   * it.
   */
  advance(by: Duration): Promise<void>
  /** The same, until that time. Rejects for one that has passed. */
  advanceTo(to: Date): Promise<void>
  /** Advances to the next moment at which something is due. */
  step(): Promise<void>
  /**
   * Advances until the cluster is at rest: within `idle` (default 10 s) only what recurs is due, and nothing is under way. Rejects when that takes more
   * than `most` (default an hour) of the cluster's time.
   */
  settle(options?: {
    readonly idle?: Duration | undefined
    readonly most?: Duration | undefined
  }): Promise<void>
}

/** Where and how a part of the cluster breaks: docs/lab.md lists the kinds. */
export interface Fault {
  /** In messages, and to heal it. Default: its kind and a number. */
  readonly name?: string
  readonly kind: 'requests' | 'store' | 'network' | 'process' | 'clock' | 'certificate' | 'node'
  /** It ends after it has fired this often. */
  readonly times?: number
  /** It ends after this many milliseconds of the cluster's clock. */
  readonly forMs?: number
  /** The part of matching requests that it fires for, above 0 and at most 1, and which these are. */
  readonly chance?: number
  readonly seed?: number
  readonly fault: object
}

export interface FaultStatus {
  readonly name: string
  readonly spec: Fault
  /** How often it has fired. */
  readonly fired: number
  /** Undefined while it is active. */
  readonly ended?: 'times' | 'time' | 'healed'
  /** When it was added, by the cluster's clock. */
  readonly sinceMs: number
}

/** Faults on purpose. */
export interface ClusterFaults {
  /** Resolves when the fault is active. Rejects for one that contradicts an active one. */
  add(fault: Fault): Promise<FaultStatus>
  /** Also those that have ended, oldest first. */
  list(): Promise<readonly FaultStatus[]>
  /** Ends the fault of this name, or all; gives those that it ended. */
  heal(name?: string): Promise<readonly FaultStatus[]>
  /**
   * Begins a chaos, then runs `meanwhile`; resolves when both are over. When `meanwhile` rejects, the chaos is stopped and its faults are
   * healed. Rejects while there is another chaos.
   */
  chaos(options: ChaosOptions, meanwhile?: () => Promise<unknown>): Promise<ChaosReport>
}

/** A weighted mix of faults over a time, each drawn by the seed. */
export interface ChaosOptions {
  /** A whole number from 0 to 4294967295; the same for the same faults. Default: the cluster draws one. */
  readonly seed?: number
  /** How long, by the cluster's clock. */
  readonly for: Duration
  /** Default: all that this form of a cluster can do. */
  readonly mix?: {
    /** Mean time from the beginning of one fault to that of the next, such as `20s`. */
    readonly every: string
    readonly faults: readonly {
      /** Without name and end. A part may be `*`: any that can have the fault. */
      readonly fault: Fault
      /** How often it is taken, beside the others'. Default 1. */
      readonly weight?: number
      /** How long it lasts: a time between these two. Default `5s` and `1m`. */
      readonly for?: readonly [least: string, most: string]
    }[]
  }
}

export interface ChaosReport {
  readonly seed: number
  readonly forMs: number
  /** How long it took. */
  readonly tookMs: number
  readonly isOver: boolean
  /** Those of the mix, in its order: how many faults each stands for in this cluster, and how often it was begun and fired. */
  readonly faults: readonly {
    readonly what: string
    readonly parts: number
    readonly begun: number
    readonly fired: number
  }[]
  /** Those that the cluster could not have at their time. */
  readonly refused: readonly {
    readonly fault: string
    readonly what: string
    readonly why: string
  }[]
}

/** All of a cluster at one moment: objects, revisions, clock, nodes and their pods. Memory of this process; `dispose` frees it. */
export interface Snapshot extends Disposable {
  /** The resourceVersion at which it was taken. */
  readonly resourceVersion: string
  readonly takenAt: Date
}

/** An admission webhook, in the words of its configuration (admissionregistration.k8s.io/v1). */
export interface WebhookOptions {
  readonly name: string
  readonly kind: 'validating' | 'mutating'
  readonly rules: readonly {
    readonly apiGroups: readonly string[]
    readonly apiVersions: readonly string[]
    readonly resources: readonly string[]
    readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT' | '*')[]
  }[]
  readonly failurePolicy?: 'Fail' | 'Ignore' | undefined
  readonly timeoutSeconds?: number | undefined
  readonly namespaceSelector?: unknown
  readonly objectSelector?: unknown
}

/** As AdmissionReview's request (admission.k8s.io/v1). */
export interface AdmissionRequest {
  readonly uid: string
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly name?: string
  readonly namespace?: string
  readonly object: KubernetesObject | null
  readonly oldObject: KubernetesObject | null
  readonly userInfo: { readonly username?: string; readonly groups?: readonly string[] }
  readonly dryRun?: boolean
  // oxlint-disable-next-line typescript/no-explicit-any -- the rest of what upstream sends
  readonly [field: string]: any
}

/** Undefined allows the request. `patch` is a JSON patch (RFC 6902), or the whole changed object. */
export type AdmissionAnswer =
  | undefined
  | {
      readonly allowed?: boolean
      readonly message?: string
      readonly code?: number
      readonly warnings?: readonly string[]
      readonly object?: KubernetesObject
      readonly patch?: readonly unknown[]
    }

export type AdmissionHandler = (
  request: AdmissionRequest,
) => AdmissionAnswer | Promise<AdmissionAnswer>

/** Which custom resources a handler converts. */
export interface ConversionOptions {
  /** The name of the CustomResourceDefinition: `websites.example.com`. */
  readonly crd: string
  /** Versions of ConversionReview, the preferred first (`conversionReviewVersions`); default v1. */
  readonly versions?: readonly ('v1' | 'v1beta1')[] | undefined
}

/**
 * The object in the desired version: with that apiVersion, and with its kind, name, namespace and uid as they were. It may be changed
 * in place. Of the other metadata the API server takes labels and annotations.
 */
export type ConversionHandler = (
  object: KubernetesObject,
  desiredAPIVersion: string,
) => KubernetesObject | Promise<KubernetesObject>

/** A resource of an extension API server, as discovery lists it (`APIResource` of meta/v1). */
export interface ApiResource {
  /** The plural, such as `flavors`, or with a subresource, such as `flavors/status`. */
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  /** Default: the kind in lower case. */
  readonly singularName?: string | undefined
  readonly shortNames?: readonly string[] | undefined
  readonly categories?: readonly string[] | undefined
}

/** A group version that a handler serves. */
export interface ApiServiceOptions {
  readonly group: string
  readonly version: string
  /**
   * What discovery lists; the handler then answers for paths below `/apis/GROUP/VERSION/` alone. Without it the handler answers every
   * path that the API server asks for: `/apis/GROUP/VERSION` with an APIResourceList, and 404 for OpenAPI documents if it has none.
   */
  readonly resources?: readonly ApiResource[] | undefined
  /** Where the group stands in discovery; default 1000. */
  readonly groupPriorityMinimum?: number | undefined
  /** Where the version stands in its group; default 10. */
  readonly versionPriority?: number | undefined
}

/** The user of a request, whom the API server has authenticated. */
export interface UserInfo {
  readonly username: string
  readonly uid?: string | undefined
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/**
 * Answers one request, which the API server has authenticated and authorized. The request's signal aborts when its client leaves,
 * or the registration is disposed of: then the body of the response is cancelled.
 */
export type ApiServiceHandler = (
  request: Request,
  context: { readonly userInfo: UserInfo },
) => Response | Promise<Response>

/** Something that lasts until it is disposed or its cluster ends. */
export interface Registration extends AsyncDisposable {
  dispose(): Promise<void>
}

export type Component =
  'api-server' | 'controller-manager' | 'scheduler' | 'node-agent' | 'stage-runner'

export interface StartClusterOptions {
  /** `embedded` (the default): all components in one thread of this process. `processes`: as `skiff up` makes it. */
  readonly form?: 'embedded' | 'processes' | undefined
  /** How many, named node-1, node-2 and so on, or which; default 1. */
  readonly nodes?: number | readonly NodeOptions[] | undefined
  /** Files and folders of YAML or JSON, applied in the order that their kinds need. */
  readonly manifests?: readonly string[] | undefined
  /** Objects that are applied after the manifests. */
  readonly objects?: readonly KubernetesObject[] | undefined
  /** Which components run beside the API server; default all. Without the controller manager there are no nodes. */
  readonly components?: readonly ('controller-manager' | 'scheduler')[] | undefined
  /** Stage files of kwok that it plays on fake nodes, their pods and other kinds; `default` stands for kwokctl's own stages. Default none. */
  readonly stages?: readonly string[] | undefined
  /** Flags by component, without dashes; they win over the cluster's own. */
  readonly flags?:
    Readonly<Partial<Record<Component, Readonly<Record<string, string>>>>> | undefined
  /** Port of the API server; default a free one. */
  readonly port?: number | undefined
  /** Names and random choices come from it, the same for the same seed. Embedded clusters only; default 1. */
  readonly seed?: number | undefined
  /** When its clock starts; default now. Embedded clusters only. */
  readonly startAt?: Date | undefined
  /** A saved cluster to start from (`skiff save`, `Cluster.save`). */
  readonly from?: string | undefined
  /** How long the nodes may take to become Ready; default 60 s. */
  readonly within?: Duration | undefined
  /** Aborting undoes the start. */
  readonly signal?: AbortSignal | undefined
}

/** A step as in a scenario file: its kind with its fields, and perhaps `name` and `fails`. */
export interface ScenarioStep {
  readonly name?: string | undefined
  readonly fails?: string | undefined
  readonly [kind: string]: unknown
}

export interface ScenarioOptions {
  /** Values for `${name}`; they win over those of the file. */
  readonly variables?: Readonly<Record<string, unknown>> | undefined
  /** Aborting ends the scenario; the promise rejects with its reason. */
  readonly signal?: AbortSignal | undefined
}

export interface ScenarioReport {
  readonly name: string
  readonly outcome: 'passed' | 'failed'
  readonly durationMs: number
  readonly steps: readonly {
    readonly title: string
    readonly outcome: 'passed' | 'failed' | 'not run'
    readonly durationMs: number
    readonly notes: readonly string[]
    /** The report of a failed step, line by line. */
    readonly failure: readonly string[]
  }[]
  /** What failed outside of the steps. */
  readonly failure: readonly string[]
}

/** An expression in CEL that must hold for every state of the objects of a kind; `object`, `oldObject` and `now` are its variables. */
export interface ExpressionMonitor {
  /** In violations. Default: the plural of the kind and a number. */
  readonly name?: string | undefined
  readonly kind: string
  readonly expression: string
}

export interface MonitorOptions {
  /** Names of built-in monitors, and expressions; default all built-in ones. */
  readonly monitors?: readonly (string | ExpressionMonitor)[] | undefined
  readonly onViolation?: ((violation: Violation) => void) | undefined
}

/** Something that must not happen, and did. */
export interface Violation {
  readonly monitor: string
  readonly object: {
    readonly apiVersion: string
    readonly kind: string
    readonly namespace?: string
    readonly name: string
    readonly uid?: string
  }
  /** The resourceVersions that show it, oldest first. */
  readonly revisions: readonly string[]
  /** One sentence. */
  readonly text: string
  /** Of the revisions that are known; field managers where the request journal does not know the request. */
  readonly writers: readonly {
    readonly revision: string
    readonly user?: string
    readonly userAgent?: string
    readonly verb?: string
    readonly subresource?: string
    readonly managers?: readonly string[]
  }[]
  /** In milliseconds since the epoch, by the cluster's clock. */
  readonly atMs: number
}

export interface MonitorSummary {
  readonly monitors: readonly {
    readonly name: string
    readonly summary: string
    readonly violations: number
  }[]
  readonly changes: number
  readonly writes: number
  readonly durationMs: number
  /** What the monitors could not see. */
  readonly notes: readonly string[]
}

export interface ClusterMonitor extends AsyncDisposable {
  /** So far, oldest first; 1,000 at most. */
  readonly violations: readonly Violation[]
  /** Judges everything up to now; gives the violations. */
  settle(): Promise<readonly Violation[]>
  /** Judges everything up to now, and ends. */
  stop(): Promise<MonitorSummary>
}

/** A running cluster. `stop`, or the end of the process, ends it, and leaves nothing behind. */
export interface Cluster extends AsyncDisposable {
  /** `https://127.0.0.1:PORT`. */
  readonly server: string
  readonly form: 'embedded' | 'processes'
  /** The administrator's client. */
  readonly admin: ObjectClient
  /** A client of its own connection. `namespace`: of objects that name none. */
  client(identity?: Identity, options?: { readonly namespace?: string | undefined }): ObjectClient
  /** That of the administrator, unless said otherwise. */
  kubeconfig(identity?: Identity): string
  /** Applies manifests (files, folders) and objects as the administrator; gives what the server stored. */
  apply(...what: readonly (string | KubernetesObject)[]): Promise<KubernetesObject[]>
  /**
   * Resolves with the objects when it holds; rejects with an ExpectationError that shows what is there instead, and what happened, and
   * with a ComponentError as soon as a component of an embedded cluster has failed.
   */
  expect<T extends KubernetesObject = KubernetesObject>(expectation: Expectation): Promise<T[]>
  readonly nodes: readonly ClusterNode[]
  /** Throws for a name that no node has. */
  node(name: string): ClusterNode
  addNode(node: NodeOptions): Promise<ClusterNode>
  readonly clock: ClusterClock
  readonly faults: ClusterFaults
  /** The newest lines of a component's log, oldest first. */
  logs(component: Component): Promise<readonly string[]>
  /** Everything as it is now. Embedded clusters only, as the next three. */
  snapshot(): Promise<Snapshot>
  /** Goes back; connections end, and clients list again. */
  restore(to: Snapshot): Promise<void>
  /** As it was when `startCluster` resolved: the same resourceVersions, and the same names for what comes next. */
  reset(): Promise<void>
  /** A second cluster that starts from this moment, on a port of its own. Clients of this one notice nothing. */
  fork(): Promise<Cluster>
  /** Writes the whole cluster to a file: for `from`, `skiff up --from`, a bug report. */
  save(file: string): Promise<void>
  /** Serves an admission webhook from this process: its certificate, its configuration, and the handler's answers. */
  webhook(options: WebhookOptions, handler: AdmissionHandler): Promise<Registration>
  /** Converts custom resources in this process, in the place of `spec.conversion` of their definition. */
  conversion(options: ConversionOptions, handler: ConversionHandler): Promise<Registration>
  /** Serves a group version from this process: its certificate, its APIService and Service, and the handler's responses. */
  apiService(options: ApiServiceOptions, handler: ApiServiceHandler): Promise<Registration>
  /**
   * Holds everything that happens from now on against monitors, until it is stopped or the cluster is. Rejects with an OptionError for an
   * unknown monitor or kind, and for an expression that cannot be compiled.
   */
  monitor(options?: MonitorOptions): Promise<ClusterMonitor>
  /**
   * Runs a scenario file on this cluster, or steps as such a file has them; a matrix gives a report for each combination. Its settings of a
   * cluster do not count. Rejects with a ScenarioFailure, which has the report of the failed step, and with an OptionError for a fault in
   * the file.
   */
  scenario(
    what: string | readonly ScenarioStep[],
    options?: ScenarioOptions,
  ): Promise<ScenarioReport[]>
  /**
   * Runs simulations that begin with this cluster as it is now; it goes on, untouched. Embedded clusters alone. Rejects as `simulate` does.
   * Its nodes are those of the simulation.
   */
  simulate(options: Omit<SimulationOptions, 'nodes'>): Promise<readonly SimulatedRun[]>
  /** What happened in a namespace, in order: changes of objects and who made them, events, denied requests. */
  story(of?: { readonly namespace?: string | undefined }): Promise<string>
  stop(): Promise<void>
}

/** What the parts of a simulation have. They may wait for nothing else: whatever is outside takes its own time. */
export interface SimulationContext {
  /** The administrator's. Its requests meet the faults, as everybody's. */
  readonly client: ObjectClient
  /** As they are now. What is done to them is no fault: it lasts. */
  readonly nodes: readonly ClusterNode[]
  /** Throws for a name that no node has. */
  node(name: string): ClusterNode
  /** Resolves when it is Ready. Without a capacity it has that of the other nodes of a simulation. */
  addNode(node: NodeOptions): Promise<ClusterNode>
  /** What time it is in the cluster. */
  now(): Date
  /** By the cluster's clock. */
  sleep(duration: Duration): Promise<void>
  /** From 0 up to 1, drawn by the seed. */
  random(): number
  /** Calls until it resolves, with a second between two calls. */
  eventually<T>(work: () => Promise<T>): Promise<T>
  /** Aborts when the run is over. */
  readonly signal: AbortSignal
}

export interface SimulationOptions {
  /** What happens. A run goes on until this has resolved and the faults are over; it fails when this rejects. */
  readonly story: (context: SimulationContext) => Promise<void>
  /** They run from the beginning to the end, unless they are stopped. A run fails when one of them rejects. */
  readonly controllers?: readonly ((context: SimulationContext) => Promise<void>)[] | undefined
  /** Two minutes after the end of the story and of the faults. A run fails when it rejects. */
  readonly check?: ((context: SimulationContext) => Promise<void>) | undefined
  /** Default 2. */
  readonly nodes?: number | undefined
  /** How long faults come, by the cluster's clock; 0: none. Default `5m`. */
  readonly for?: Duration | undefined
  /** Default: that of a chaos, without watches that leave events out in silence, which no server does. */
  readonly mix?: ChaosOptions['mix']
  /** How long a message between two parts takes at most; each draws its own. Default `50ms`. */
  readonly latency?: Duration | undefined
  /** Between two stops of each controller, on average, while there are faults; 0: none is stopped. Default `1m`. */
  readonly stops?: Duration | undefined
  /** Names of built-in monitors, and expressions; default all built-in ones. What faults hold up is no violation. */
  readonly monitors?: readonly (string | ExpressionMonitor)[] | undefined
  /** Seeds 1 to this number, until one fails. Default 20. */
  readonly seeds?: number | undefined
  /** This seed alone, as does the environment variable SIMULATION_SEED. */
  readonly seed?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** After each seed, also after the one that failed, with all of its faults. */
  readonly onRun?: ((run: SimulatedRun, hasPassed: boolean) => void) | undefined
}

/** One run of a simulation. */
export interface SimulatedRun {
  readonly seed: number
  /** Of all that was written and when: the same for the same seed, on every machine. */
  readonly hash: string
  /** How much was written. */
  readonly commits: number
  /** How long it took, by the cluster's clock. */
  readonly tookMs: number
  /** In words, in the order of their beginnings. */
  readonly faults: readonly string[]
}
