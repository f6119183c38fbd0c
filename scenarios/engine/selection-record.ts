/**
 * SelectionRecord: every change of the selected objects, in the order of revisions, since it began. It watches; a watch that breaks goes
 * on at the revision where it was, and what the server has forgotten by then is a gap. Deleted objects stay in it.
 */
import { isPassing } from '../../cluster/observe.ts'
import type { ResourceClient, WatchEvent } from '../../components/client/resource-client.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { listOptions, RecordedSelection } from './selection.ts'

export interface Moment {
  readonly atMs: number
  readonly revision: number
  /** `there`: it existed when the record began. */
  readonly type: 'there' | 'created' | 'changed' | 'deleted'
  readonly object: KubeObject
  /** Its state before. */
  readonly before: KubeObject | undefined
}

/** What has happened since the scenario began. */
export interface RecordedHistory {
  /** Resolves when the first state is known. */
  recordOf(selection: RecordedSelection): Promise<SelectionRecord>
}

export interface RecordOptions {
  readonly client: ResourceClient
  readonly selection: ReturnType<typeof listOptions>
  readonly clock: Clock
  readonly signal: AbortSignal
  /** The revision at which it begins; undefined: now. */
  readonly since?: string | undefined
  /** Called with the state after the list, and after each change. What it throws ends the record. */
  readonly onState?: (state: ReadonlyMap<string, KubeObject>, moment: Moment | undefined) => void
}

const retryMs = 50
/** Older ones are forgotten. */
const mostMoments = 10_000

const types = { ADDED: 'created', MODIFIED: 'changed', DELETED: 'deleted' } as const

export class SelectionRecord {
  readonly #options: RecordOptions
  readonly #kind: string
  readonly #moments: Moment[] = []
  readonly #state = new Map<string, KubeObject>()
  readonly #gaps: string[] = []
  readonly #listed = Promise.withResolvers<void>()
  #revision = 0
  #wake = Promise.withResolvers<void>()
  #failure: unknown

  constructor(options: RecordOptions) {
    this.#options = options
    this.#kind = options.client.resource.kind
    this.#listed.promise.catch(() => {}) // whoever reads the record sees it
    this.#run().catch((error: unknown) => {
      this.#failure = error ?? new Error('the record ended')
      this.#listed.reject(this.#failure)
      this.#wake.resolve()
    })
  }

  /** Oldest first. */
  get moments(): readonly Moment[] {
    return this.#moments
  }

  get state(): ReadonlyMap<string, KubeObject> {
    return this.#state
  }

  /** Why some changes are missing; empty when none is. */
  get gaps(): readonly string[] {
    return this.#gaps
  }

  /** Resolves when the first state is known. Rejects with what ended the record. */
  get begun(): Promise<void> {
    return this.#listed.promise
  }

  /** Resolves at the next change, or a second later. Rejects with what ended the record. */
  async next(signal: AbortSignal): Promise<void> {
    this.#throwFailure()
    signal.throwIfAborted()
    const woken = Promise.withResolvers<void>()
    const wake = (): void => woken.resolve()
    void this.#wake.promise.then(wake)
    const cancel = this.#options.clock.after(1000, wake)
    signal.addEventListener('abort', wake, { once: true })
    try {
      await woken.promise
    } finally {
      cancel()
      signal.removeEventListener('abort', wake)
    }
    this.#throwFailure()
    signal.throwIfAborted()
  }

  /** Resolves when it holds every change up to now. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    await this.begun
    const { client, selection } = this.#options
    const list = await client.list(selection, signal)
    const listed = new Map(list.items.map((one) => [keyOf(one), one.metadata.resourceVersion]))
    const revision = Number(list.metadata.resourceVersion)
    while (this.#revision < revision && !this.#isAt(listed)) await this.next(signal)
  }

  #isAt(listed: ReadonlyMap<string, string | undefined>): boolean {
    if (listed.size !== this.#state.size) return false
    return [...listed].every(
      ([key, revision]) => this.#state.get(key)?.metadata.resourceVersion === revision,
    )
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  async #run(): Promise<void> {
    const { signal, clock, client, selection } = this.#options
    let isBegun = false
    for (;;) {
      try {
        if (!isBegun) await this.#list(this.#options.since)
        isBegun = true
        this.#listed.resolve()
        for (;;) {
          const resourceVersion = String(this.#revision)
          for await (const event of client.watch({ ...selection, resourceVersion }, signal)) {
            this.#see(event)
          }
          signal.throwIfAborted()
        }
      } catch (error) {
        signal.throwIfAborted()
        if (!isPassing(error)) throw error
        if (isBegun && isStatusError(error, 'Expired', 'Gone')) {
          await this.#relist()
          continue
        }
        await clock.sleep(retryMs, signal)
      }
    }
  }

  /** The first state. Where the server has forgotten the revision, it begins now. */
  async #list(since: string | undefined): Promise<void> {
    const { client, selection, signal, onState } = this.#options
    const exact = { resourceVersion: since ?? '', resourceVersionMatch: 'Exact' as const }
    const list = await client
      .list(since === undefined ? selection : { ...selection, ...exact }, signal)
      .catch(async (error: unknown) => {
        if (since === undefined || !isStatusError(error, 'Expired', 'Gone')) throw error
        this.#gaps.push(`the server has forgotten what was at revision ${since}`)
        return await client.list(selection, signal)
      })
    for (const object of list.items) this.#add('there', object)
    this.#revision = Number(list.metadata.resourceVersion)
    onState?.(this.#state, undefined)
  }

  /** After a gap: the differences to the last known state, as changes. */
  async #relist(): Promise<void> {
    const { client, selection, signal } = this.#options
    try {
      const list = await client.list(selection, signal)
      this.#gaps.push(`the server has forgotten changes after revision ${this.#revision}`)
      const there = new Set(list.items.map(keyOf))
      for (const [key, object] of this.#state) if (!there.has(key)) this.#tell('deleted', object)
      for (const object of list.items) {
        const before = this.#state.get(keyOf(object))
        if (before?.metadata.resourceVersion === object.metadata.resourceVersion) continue
        this.#tell(before === undefined ? 'created' : 'changed', object)
      }
      this.#revision = Number(list.metadata.resourceVersion)
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error
    }
  }

  #see({ type, object }: WatchEvent): void {
    const revision = Number(object.metadata.resourceVersion)
    if (type !== 'BOOKMARK') this.#tell(types[type], object)
    if (revision > this.#revision) this.#revision = revision
  }

  #tell(type: Moment['type'], object: KubeObject): void {
    const moment = this.#add(type, object)
    this.#options.onState?.(this.#state, moment)
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }

  #add(type: Moment['type'], plain: KubeObject): Moment {
    const object = { ...plain, kind: this.#kind }
    const key = keyOf(object)
    const before = this.#state.get(key)
    if (type === 'deleted') this.#state.delete(key)
    else this.#state.set(key, object)
    const revision = Number(object.metadata.resourceVersion)
    const moment = { atMs: this.#options.clock.now(), revision, type, object, before }
    this.#moments.push(moment)
    if (this.#moments.length > mostMoments) {
      this.#moments.shift()
      if (!this.#gaps.includes(tooMany)) this.#gaps.push(tooMany)
    }
    return moment
  }
}

const tooMany = `only the last ${mostMoments} changes are kept`
