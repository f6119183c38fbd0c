/** A server as an informer meets it on a bad day: watches break, history ends, lists are old, events come twice. */
import {
  createEventQueue,
  type EventQueue,
} from '../../../components/component-base/event-queue.ts'
import { ConnectionError } from '../../../components/client/connection-error.ts'
import type {
  ListOptions,
  ResourceClient,
  WatchEvent,
  WatchOptions,
} from '../../../components/client/resource-client.ts'
import type { KubeList, KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { expired, StatusError } from '../../../components/machinery/objects/status-error.ts'

interface Commit {
  readonly revision: number
  readonly name: string
  /** Undefined for a deletion. */
  readonly object: KubeObject | undefined
}

export type Fault = 'end' | 'lost' | 'malformed' | 'gone-event' | 'error-event'

export class FaultyServer {
  readonly #resource: Resource
  #commits: Commit[] = []
  #revision = 1
  #oldest = 0
  #uids = 0
  readonly #watches = new Set<EventQueue<WatchEvent>>()
  /** Requests fail until it is up again. */
  isDown = false
  /** Lists that may be old are this many commits behind. */
  lag = 0
  /** Every event is sent twice. */
  repeats = false

  constructor(resource: Resource) {
    this.#resource = resource
  }

  /** The objects by name as of a revision. */
  state(revision = this.#revision): Map<string, KubeObject> {
    const state = new Map<string, KubeObject>()
    for (const commit of this.#commits) {
      if (commit.revision > revision) break
      if (commit.object === undefined) state.delete(commit.name)
      else state.set(commit.name, commit.object)
    }
    return state
  }

  /** Creates or changes the object. */
  put(name: string): void {
    this.#revision += 1
    const before = this.state().get(name)
    const uid = before?.metadata.uid ?? `uid-${(this.#uids += 1)}`
    const resourceVersion = String(this.#revision)
    const object: KubeObject = {
      apiVersion: this.#resource.version,
      kind: this.#resource.kind,
      metadata: { name, namespace: 'ns', uid, resourceVersion },
    }
    this.#commit({ revision: this.#revision, name, object })
  }

  remove(name: string): void {
    if (!this.state().has(name)) return
    this.#revision += 1
    this.#commit({ revision: this.#revision, name, object: undefined })
  }

  #commit(commit: Commit): void {
    const event = this.#eventOf(commit)
    this.#commits.push(commit)
    for (const watch of this.#watches) this.#send(watch, event)
  }

  #eventOf({ revision, name, object }: Commit): WatchEvent {
    const before = this.state(revision - 1).get(name)
    if (object !== undefined) return { type: before === undefined ? 'ADDED' : 'MODIFIED', object }
    if (before === undefined) throw new Error('nothing was there to delete')
    const metadata = { ...before.metadata, resourceVersion: String(revision) }
    return { type: 'DELETED', object: { ...before, metadata } }
  }

  #send(watch: EventQueue<WatchEvent>, event: WatchEvent): void {
    const times = this.repeats ? 2 : 1
    for (let time = 0; time < times; time += 1) watch.push(structuredClone(event))
  }

  /** Tells open watches how far they are. */
  bookmark(): void {
    const { version, kind } = this.#resource
    const metadata = { name: '', resourceVersion: String(this.#revision) }
    for (const watch of this.#watches) {
      watch.push({ type: 'BOOKMARK', object: { apiVersion: version, kind, metadata } })
    }
  }

  /** Ends all open watches. */
  break(fault: Fault): void {
    const reasons: Record<Fault, unknown> = {
      end: undefined,
      lost: new ConnectionError('lost', 'the connection broke'),
      malformed: new ConnectionError('malformed', 'half a line'),
      'gone-event': expired('too old resource version'),
      'error-event': new StatusError('InternalError', 'out of order'),
    }
    for (const watch of this.#watches) watch.end(reasons[fault])
    this.#watches.clear()
  }

  /** Forgets all history before now. */
  compact(): void {
    this.#oldest = this.#revision
  }

  #refuseWhenDown(): void {
    if (this.isDown) throw new ConnectionError('refused', 'down')
  }

  #list(options: ListOptions = {}): KubeList<KubeObject> {
    this.#refuseWhenDown()
    const { resourceVersion = '' } = options
    const wanted = Number(resourceVersion === '' ? this.#revision : resourceVersion)
    // As from a cache that is behind, but never older than what was asked for.
    const revision = Math.max(wanted, this.#revision - this.lag)
    return {
      apiVersion: this.#resource.version,
      kind: this.#resource.listKind,
      metadata: { resourceVersion: String(revision) },
      items: structuredClone([...this.state(revision).values()]),
    }
  }

  async *#watch(options: WatchOptions, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    this.#refuseWhenDown()
    const from = Number(options.resourceVersion)
    if (from < this.#oldest) throw expired(`too old resource version: ${from} (${this.#oldest})`)
    const queue = createEventQueue<WatchEvent>(10_000)
    for (const commit of this.#commits) {
      if (commit.revision > from) this.#send(queue, this.#eventOf(commit))
    }
    this.#watches.add(queue)
    const stop = (): void => queue.end(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    try {
      yield* queue
    } finally {
      this.#watches.delete(queue)
      signal.removeEventListener('abort', stop)
    }
  }

  /** What a reflector needs of a client. */
  client(): ResourceClient {
    const known: Pick<ResourceClient, 'resource' | 'list' | 'watch'> = {
      resource: this.#resource,
      // oxlint-disable-next-line typescript/require-await -- a refusal is a rejection
      list: async (options) => this.#list(options),
      watch: (options, signal) => this.#watch(options, signal),
    }
    return known as ResourceClient
  }
}
