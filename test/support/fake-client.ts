/**
 * FakeCluster: an in-memory server behind the Client interface, for tests of controllers. It has resource versions,
 * conflicts, watches, status sub-resources, generated names, finalizers and deletion; no defaults or validation, and rights
 * only for a client with a check.
 */
import type { Dialect } from '../../components/api/dialect.ts'
import { apiKey, dialects } from '../../components/api/dialect.ts'
import type { Client } from '../../components/client/client.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import type {
  DeleteOptions,
  PatchType,
  ResourceClient,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../../components/client/resource-client.ts'
import type { RestClient } from '../../components/client/rest-client.ts'
import { timestamp } from '../../components/component-base/clock.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { createEventQueue } from '../../components/component-base/event-queue.ts'
import { silentLog } from '../../components/component-base/log.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { deepEqual, keyOf } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { apiVersionOf } from '../../components/machinery/objects/resource.ts'
import {
  alreadyExists,
  conflict,
  expired,
  noSuchResource,
  notFound,
  objectModified,
} from '../../components/machinery/objects/status-error.ts'
import { copyJson } from '../../components/machinery/values/json-copy.ts'
import { jsonPatch, matches, mergePatch } from './fake-matching.ts'

export interface RecordedCall {
  readonly verb: string
  /** `pods`, `pods/status`. */
  readonly resource: string
  readonly key: string
  readonly object?: unknown
  /** A get that takes no older state than this. */
  readonly resourceVersion?: string | undefined
}

type Reaction = (call: RecordedCall) => unknown

/** Throws what the server answers when the client may not make the call. */
export type CallCheck = (call: RecordedCall, resource: Resource) => void

interface Logged {
  readonly version: number
  readonly store: string
  readonly event: WatchEvent
}

/** Something is still to be done before a deleted object may go. */
function isHeld({ kind, metadata, ...rest }: KubeObject): boolean {
  const spec = rest['spec'] as { finalizers?: readonly string[] } | undefined
  return Boolean(metadata.finalizers?.length || (kind === 'Namespace' && spec?.finalizers?.length))
}

export class FakeCluster {
  readonly clock: Clock
  readonly dialect: Dialect
  /** Every call of every client, in order, watches and lists too. */
  readonly calls: RecordedCall[] = []
  readonly #objects = new Map<string, Map<string, KubeObject>>()
  /** What clients created, in order: `pods default/web-` with a generated name's prefix, else the whole name. */
  readonly created: string[] = []
  readonly #reactions: { verb: string; resource: string; react: Reaction }[] = []
  readonly #losing = new Set<(call: RecordedCall) => boolean>()
  readonly #watches = new Set<(logged: Logged) => void>()
  readonly #enders = new Set<(error: unknown) => void>()
  #log: Logged[] = []
  #version = 100
  #oldest = 0
  #names = 0

  constructor(clock: Clock, dialect: Dialect = dialects.kubernetes) {
    this.clock = clock
    this.dialect = dialect
  }

  /** Calls of writing verbs, as `create pods default/web`. */
  get writes(): string[] {
    return this.calls
      .filter(({ verb }) => !['get', 'list', 'watch'].includes(verb))
      .map(({ verb, resource, key }) => `${verb} ${resource} ${key}`)
  }

  /** Before each such call (`*` is any verb) `react` runs: what it throws the caller gets; a value it returns is the answer. */
  react(verb: string, resource: string, react: Reaction): () => void {
    const entry = { verb, resource, react }
    this.#reactions.unshift(entry)
    return () => void this.#reactions.splice(this.#reactions.indexOf(entry), 1)
  }

  /** Calls that `isLost` chooses have their effect, and their answers never come. */
  loseAnswers(isLost: (call: RecordedCall) => boolean): () => void {
    this.#losing.add(isLost)
    return () => void this.#losing.delete(isLost)
  }

  /** Puts an object in as it is, without a recorded call; metadata it lacks is filled in. */
  seed<T extends KubeObject>(resource: Resource, object: T): T {
    return this.#insert(resource, object) as T
  }

  /** What is stored; undefined for nothing. A copy. */
  peek<T extends KubeObject = KubeObject>(resource: Resource, key: string): T | undefined {
    const found = this.#store(resource).get(key)
    return found === undefined ? undefined : (copyJson(found) as T)
  }

  /** All stored objects of the resource, by key. Copies. */
  all<T extends KubeObject = KubeObject>(resource: Resource): T[] {
    return [...this.#store(resource).values()].map((object) => copyJson(object) as T)
  }

  /** Changes a stored object as another client would. */
  change(resource: Resource, key: string, edit: (object: KubeObject) => void): KubeObject {
    const object = copyJson(this.#mustGet(resource, key))
    edit(object)
    return this.#replace(resource, object)
  }

  /** Deletes a stored object as another client would. */
  remove(resource: Resource, key: string): void {
    this.#delete(resource, key, {})
  }

  /** Ends all open watches: cleanly, or with the error. */
  endWatches(error?: unknown): void {
    for (const end of this.#enders) end(error)
  }

  /** Forgets history: a watch from before now gets 410. */
  compact(): void {
    this.#oldest = this.#version
    this.#log = []
  }

  /** A client whose every call passes `check` first; by default all calls are allowed. */
  client(check: CallCheck = () => {}): Client {
    const clients = new Map<Resource, ResourceClient>()
    return {
      resource: <T extends KubeObject>(resource: Resource) => {
        const known = clients.get(resource) ?? this.#resourceClient(resource, check)
        clients.set(resource, known)
        return known as unknown as ResourceClient<T>
      },
      rest: this.#rest(),
      dialect: this.dialect,
      clock: this.clock,
      log: silentLog,
      close: () => {},
    }
  }

  /** Plain requests: all are answered by reactions to their method in small letters and their path without the query. */
  #rest(): RestClient {
    const json: RestClient['json'] = async ({ method, path, body }) => {
      const [resource = '', key = ''] = path.split('?')
      const reacted = this.#call({
        verb: method.toLowerCase(),
        resource,
        key,
        object: copyJson(body),
      })
      if (reacted === undefined) throw noSuchResource()
      return copyJson(reacted.answer)
    }
    return { json } as RestClient
  }

  #id(resource: Resource): string {
    return resource.storagePrefix
  }

  #store(resource: Resource): Map<string, KubeObject> {
    const id = this.#id(resource)
    const store = this.#objects.get(id) ?? new Map<string, KubeObject>()
    this.#objects.set(id, store)
    return store
  }

  #mustGet(resource: Resource, key: string): KubeObject {
    const found = this.#store(resource).get(key)
    if (found === undefined) throw notFound(resource, key.slice(key.indexOf('/') + 1))
    return found
  }

  #emit(resource: Resource, type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubeObject): void {
    const logged = { version: this.#version, store: this.#id(resource), event: { type, object } }
    this.#log.push(logged)
    for (const watch of this.#watches) watch(logged)
  }

  #insert(resource: Resource, given: KubeObject): KubeObject {
    const object = copyJson(given)
    const { metadata } = object
    if (metadata.name === undefined) {
      this.#names += 1
      metadata.name = `${metadata.generateName ?? ''}${String(this.#names).padStart(5, '0')}`
    }
    if (this.#store(resource).has(keyOf(object))) throw alreadyExists(resource, metadata.name)
    this.#version += 1
    object.apiVersion = apiVersionOf(resource)
    object.kind = resource.kind
    metadata.uid ??= this.clock.uuid()
    metadata.creationTimestamp ??= timestamp(this.clock.now())
    metadata.generation ??= 1
    metadata.resourceVersion = String(this.#version)
    this.#store(resource).set(keyOf(object), object)
    this.#emit(resource, 'ADDED', object)
    return copyJson(object)
  }

  #replace(resource: Resource, object: KubeObject): KubeObject {
    const key = keyOf(object)
    const old = this.#mustGet(resource, key)
    const next = copyJson(object)
    next.apiVersion = apiVersionOf(resource)
    next.kind = resource.kind
    next.metadata.uid = old.metadata.uid as string
    next.metadata.creationTimestamp = old.metadata.creationTimestamp as string
    next.metadata.resourceVersion = old.metadata.resourceVersion as string
    if (old.metadata.deletionTimestamp !== undefined)
      next.metadata.deletionTimestamp = old.metadata.deletionTimestamp
    if (deepEqual(old, next)) return copyJson(old)
    if (!deepEqual(old['spec'], next['spec']))
      next.metadata.generation = (old.metadata.generation ?? 1) + 1
    this.#version += 1
    next.metadata.resourceVersion = String(this.#version)
    if (next.metadata.deletionTimestamp !== undefined && !isHeld(next)) {
      this.#store(resource).delete(key)
      this.#emit(resource, 'DELETED', next)
      return copyJson(next)
    }
    this.#store(resource).set(key, next)
    this.#emit(resource, 'MODIFIED', next)
    return copyJson(next)
  }

  #delete(resource: Resource, key: string, options: DeleteOptions): KubeObject {
    const old = this.#mustGet(resource, key)
    const { uid, resourceVersion } = options.preconditions ?? {}
    const name = old.metadata.name ?? ''
    if (uid !== undefined && uid !== old.metadata.uid)
      throw conflict(resource, name, `Precondition failed: UID in precondition: ${uid}`)
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion)
      throw conflict(resource, name, `Precondition failed: ${resourceVersion}`)
    const added = { Orphan: 'orphan', Foreground: 'foregroundDeletion', Background: '' }
    const finalizer = added[options.propagationPolicy ?? 'Background']
    const finalizers = [
      ...(old.metadata.finalizers ?? []),
      ...(finalizer === '' ? [] : [finalizer]),
    ]
    this.#version += 1
    const next = copyJson(old)
    next.metadata.resourceVersion = String(this.#version)
    if (finalizers.length === 0 && !isHeld(next)) {
      this.#store(resource).delete(key)
      this.#emit(resource, 'DELETED', next)
      return copyJson(next)
    }
    if (old.metadata.deletionTimestamp !== undefined) return copyJson(old)
    next.metadata.deletionTimestamp = timestamp(this.clock.now())
    if (finalizers.length > 0) next.metadata.finalizers = finalizers
    this.#store(resource).set(key, next)
    this.#emit(resource, 'MODIFIED', next)
    return copyJson(next)
  }

  #call(call: RecordedCall): { answer: unknown } | undefined {
    this.calls.push(call)
    for (const { verb, resource, react } of this.#reactions) {
      if ((verb !== '*' && verb !== call.verb) || (resource !== '*' && resource !== call.resource))
        continue
      const answer = react(call)
      if (answer !== undefined) return { answer }
    }
    return undefined
  }

  #update(resource: Resource, object: KubeObject, options: WriteOptions): KubeObject {
    const old = this.#mustGet(resource, keyOf(object))
    const sent = object.metadata.resourceVersion
    if (sent !== undefined && sent !== old.metadata.resourceVersion)
      throw conflict(resource, object.metadata.name ?? '', objectModified)
    const { subresource } = options
    if (subresource === 'status') {
      const { metadata } = object
      const { labels, annotations, finalizers } = metadata
      return this.#replace(resource, {
        ...old,
        metadata: {
          ...old.metadata,
          ...(labels && { labels }),
          ...(annotations && { annotations }),
          ...(finalizers && { finalizers }),
        },
        status: object['status'],
      })
    }
    const hasStatus = resource.subresources.some(({ name }) => name === 'status')
    const keepStatus = subresource === undefined && hasStatus
    return this.#replace(resource, {
      ...object,
      ...(keepStatus && old['status'] !== undefined ? { status: old['status'] } : {}),
    })
  }

  #patch(
    resource: Resource,
    ref: { namespace?: string | undefined; name: string },
    patch: unknown,
    options: WriteOptions & { type: PatchType },
  ): KubeObject {
    const key = ref.namespace ? `${ref.namespace}/${ref.name}` : ref.name
    const old = this.#store(resource).get(key)
    if (old === undefined) {
      if (options.type === 'apply') return this.#insert(resource, patch as KubeObject)
      throw notFound(resource, ref.name)
    }
    const next = (
      options.type === 'json'
        ? jsonPatch(old, patch as { op: string; path: string }[])
        : mergePatch(old, patch)
    ) as KubeObject
    const { resourceVersion, uid = old.metadata.uid } =
      (patch as { metadata?: KubeObject['metadata'] }).metadata ?? {}
    if (uid !== old.metadata.uid)
      throw conflict(resource, ref.name, `Precondition failed: UID in precondition: ${uid}`)
    if (resourceVersion === undefined) delete next.metadata.resourceVersion
    return this.#update(resource, next, options)
  }

  async *#watch(
    resource: Resource,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent> {
    const from = Number(options.resourceVersion ?? '0')
    if (from !== 0 && from < this.#oldest)
      throw expired(`too old resource version: ${from} (${this.#oldest})`)
    const queue = createEventQueue<WatchEvent>(100_000)
    const store = this.#id(resource)
    const visible = new Set<string>()
    const deliver = (logged: Logged): void => {
      if (logged.store !== store) return
      const { object } = logged.event
      const key = keyOf(object)
      const isMatch = logged.event.type !== 'DELETED' && matches(object, options)
      if (!isMatch && !visible.has(key) && !matches(object, options)) return
      const type = isMatch ? (visible.has(key) ? 'MODIFIED' : 'ADDED') : 'DELETED'
      if (isMatch) visible.add(key)
      else visible.delete(key)
      queue.push({ type, object: copyJson(object) })
    }
    const isInitial = options.sendInitialEvents === true
    // What the watcher's list showed it, so that a first change is told as a change.
    for (const object of this.#store(resource).values()) {
      if (!matches(object, options)) continue
      if (isInitial) queue.push({ type: 'ADDED', object: copyJson(object) })
      if (isInitial || Number(object.metadata.resourceVersion) <= from) visible.add(keyOf(object))
    }
    const missed = isInitial ? [] : this.#log.filter(({ version }) => version > from)
    for (const { event } of missed) {
      if (event.type !== 'ADDED' && matches(event.object, options)) visible.add(keyOf(event.object))
    }
    for (const logged of missed) deliver(logged)
    if (isInitial) {
      const annotations = { [apiKey(this.dialect, '', 'initial-events-end')]: 'true' }
      const metadata = { resourceVersion: String(this.#version), annotations }
      queue.push({
        type: 'BOOKMARK',
        object: { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata },
      })
    }
    const end = (error?: unknown): void => queue.end(error)
    const abort = (): void => queue.end(signal.reason)
    this.#watches.add(deliver)
    this.#enders.add(end)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    try {
      yield* queue
    } finally {
      this.#watches.delete(deliver)
      this.#enders.delete(end)
      signal.removeEventListener('abort', abort)
    }
  }

  #resourceClient(resource: Resource, check: CallCheck): ResourceClient {
    const named = (subresource?: string): string =>
      subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`
    const keyFor = (ref: { namespace?: string | undefined; name: string }): string =>
      ref.namespace ? `${ref.namespace}/${ref.name}` : ref.name
    const answer = async <T>(call: RecordedCall, act: () => T): Promise<T> => {
      check(call, resource)
      const reacted = this.#call(call)
      const result = reacted === undefined ? act() : (copyJson(reacted.answer) as T)
      if ([...this.#losing].some((isLost) => isLost(call)))
        throw new ConnectionError('lost', 'the connection was lost')
      return result
    }
    const create = (object: KubeObject): KubeObject => {
      if (resource.virtual) return copyJson(object)
      const { namespace = '', generateName, name } = object.metadata
      const made = this.#insert(resource, object)
      this.created.push(`${resource.plural} ${namespace}/${name ?? generateName}`)
      return made
    }
    const update = (object: KubeObject, options: WriteOptions = {}): Promise<KubeObject> =>
      answer(
        {
          verb: 'update',
          resource: named(options.subresource),
          key: keyOf(object),
          object: copyJson(object),
        },
        () => this.#update(resource, object, options),
      )
    return {
      resource,
      get: (ref, { subresource, resourceVersion } = {}) =>
        answer(
          { verb: 'get', resource: named(subresource), key: keyFor(ref), resourceVersion },
          () => copyJson(this.#mustGet(resource, keyFor(ref))),
        ),
      list: (options = {}) =>
        answer({ verb: 'list', resource: named(), key: options.namespace ?? '' }, () => ({
          kind: resource.listKind,
          apiVersion: apiVersionOf(resource),
          metadata: { resourceVersion: String(this.#version) },
          items: this.all(resource).filter((object) => matches(object, options)),
        })),
      create: (object, options = {}) =>
        answer(
          {
            verb: 'create',
            resource: named(options.subresource),
            key: keyOf(object),
            object: copyJson(object),
          },
          () => create(object),
        ),
      createSubresource: (ref, subresource, object) =>
        answer(
          {
            verb: 'create',
            resource: named(subresource),
            key: keyFor(ref),
            object: copyJson(object),
          },
          () => copyJson(object),
        ),
      updateSubresource: (ref, subresource, object) =>
        answer(
          {
            verb: 'update',
            resource: named(subresource),
            key: keyFor(ref),
            object: copyJson(object),
          },
          () => copyJson(object),
        ),
      update,
      updateStatus: (object, options = {}) => update(object, { ...options, subresource: 'status' }),
      patch: (ref, patch, options) =>
        answer(
          {
            verb: 'patch',
            resource: named(options.subresource),
            key: keyFor(ref),
            object: copyJson(patch),
          },
          () => this.#patch(resource, ref, patch, options),
        ),
      delete: (ref, options = {}) =>
        answer(
          {
            verb: 'delete',
            resource: named(),
            key: keyFor(ref),
            object: { ...options, signal: undefined },
          },
          () => this.#delete(resource, keyFor(ref), options),
        ),
      deleteCollection: (options, deleteOptions = {}) =>
        answer(
          { verb: 'deletecollection', resource: named(), key: options.namespace ?? '' },
          () => {
            for (const object of this.all(resource))
              if (matches(object, options)) this.#delete(resource, keyOf(object), deleteOptions)
          },
        ),
      watch: (options, signal) => {
        const call = { verb: 'watch', resource: named(), key: options.namespace ?? '' }
        check(call, resource)
        this.#call(call)
        return this.#watch(resource, options, signal)
      },
    }
  }
}
