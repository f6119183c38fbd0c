/** Objects, and how a user asks for them and writes them: part of the library's API. */

/** Milliseconds, or a number with a unit: `250ms`, `10s`, `6m`, `1h`, `7d`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

/** Any API object. Give a type of your own, or one of `@kubernetes/client-node`, where the fields matter. */
export interface KubernetesObject {
  apiVersion?: string
  kind?: string
  metadata?: {
    name?: string
    namespace?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    uid?: string
    resourceVersion?: string
    // oxlint-disable-next-line typescript/no-explicit-any -- as upstream's ObjectMeta, in whoever's types
    [field: string]: any
  }
  // oxlint-disable-next-line typescript/no-explicit-any -- an object of an unknown kind has any fields
  [field: string]: any
}

/** Which kind: its name, plural or short name. `apiVersion` is needed only where several groups have the kind. */
export interface KindReference {
  readonly kind: string
  readonly apiVersion?: string | undefined
}

/** One object. `namespace`: default that of the client; ignored for cluster-scoped kinds. */
export interface ObjectReference extends KindReference {
  readonly name: string
  readonly namespace?: string | undefined
}

/** Some objects of a kind. `namespace`: `*` is all of them. */
export interface Selection extends KindReference {
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
}

/** A user needs nothing in the cluster but what RBAC says about it. */
export type Identity =
  | 'admin'
  | 'anonymous'
  | { readonly user: string; readonly groups?: readonly string[] | undefined }
  | { readonly token: string }

export interface WatchEvent<T extends KubernetesObject = KubernetesObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: T
}

export interface WriteOptions {
  readonly subresource?: string | undefined
  readonly dryRun?: boolean | undefined
  readonly fieldManager?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number | undefined
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground' | undefined
  readonly signal?: AbortSignal | undefined
}

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

/**
 * Requests of one user, over HTTPS. Failures are StatusErrors, which carry upstream's `reason`, `code` and `details`; a
 * server that cannot be reached is a ConnectionError.
 */
export interface ObjectClient extends Disposable {
  /** The namespace of objects that name none; `default` unless it was asked for. */
  readonly namespace: string
  get<T extends KubernetesObject = KubernetesObject>(
    of: ObjectReference,
    options?: Pick<WriteOptions, 'subresource' | 'signal'>,
  ): Promise<T>
  list<T extends KubernetesObject = KubernetesObject>(
    of: Selection,
    options?: { readonly signal?: AbortSignal },
  ): Promise<T[]>
  create<T extends KubernetesObject>(object: T, options?: WriteOptions): Promise<T>
  /** Replaces the object. With a resourceVersion, a lost race is a Conflict. */
  replace<T extends KubernetesObject>(object: T, options?: WriteOptions): Promise<T>
  /** Server-side apply; `fieldManager` is `kube-skiff` unless it is given. */
  apply<T extends KubernetesObject>(
    object: T,
    options?: WriteOptions & { readonly force?: boolean | undefined },
  ): Promise<T>
  patch<T extends KubernetesObject = KubernetesObject>(
    of: ObjectReference,
    patch: unknown,
    options: WriteOptions & { readonly type: PatchType; readonly force?: boolean | undefined },
  ): Promise<T>
  /** Resolves when the server has accepted the deletion, which finalizers and grace periods may hold up. */
  delete(of: ObjectReference, options?: DeleteOptions): Promise<void>
  /**
   * The objects that there are, as ADDED, and then every change, until the loop is left or `signal` aborts. Lists again
   * when the server has forgotten where it was, and gives what changed meanwhile. Ends when `signal` aborts; throws when the
   * client is closed.
   */
  watch<T extends KubernetesObject = KubernetesObject>(
    of: Selection,
    options?: { readonly signal?: AbortSignal | undefined },
  ): AsyncIterable<WatchEvent<T>>
  /** Any other request; the parsed JSON answer, of other answers the text. */
  request(request: {
    readonly method: string
    /** With its query. */
    readonly path: string
    readonly body?: unknown
    readonly contentType?: string | undefined
    readonly headers?: Readonly<Record<string, string>> | undefined
    readonly signal?: AbortSignal | undefined
  }): Promise<unknown>
  /** A kubeconfig of this user, for any client library: YAML with everything embedded. */
  kubeconfig(): string
  /** Closes its connection; what is under way fails. The cluster does so with all of its clients when it ends. */
  close(): void
}

/** What must become true. Conditions as in scenario files: `PATH OPERATOR VALUE`. */
export interface Expectation extends Selection {
  readonly name?: string | undefined
  readonly where?: string | readonly string[] | undefined
  /** Content that each object must have; lists item by item, `null` means absent. */
  readonly match?: unknown
  /** How many objects must match. Default: every selected object, and at least one. */
  readonly count?: number | { readonly atLeast?: number; readonly atMost?: number } | undefined
  /** True: no object may match. */
  readonly absent?: boolean | undefined
  /** Default 10 s, of the cluster's clock. */
  readonly within?: Duration | undefined
  /** How long it must hold from then on. */
  readonly stays?: Duration | undefined
  readonly signal?: AbortSignal | undefined
}
