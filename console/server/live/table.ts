/**
 * LiveTable: rows by key that a source changes and that pages follow. Changes are joined, so that a page gets at most ten messages a second, and
 * encoded once for all pages. A snapshot is read from the rows while it is sent, so that no page has a copy of its own.
 */
import type { Clock } from '../../../components/component-base/clock.ts'
import { changeTail, snapshotTail, type MessageTail } from './message-tail.ts'

const joinMs = 100
/** Makes a message of about half a megabyte. */
const usualPartRows = 2000

/** Who follows a table. All are called synchronously and must not throw. */
export interface TableFollower {
  /** Calls `sent` once the connection has taken the part; the next one comes after that. */
  snapshot(part: MessageTail, sent: () => void): void
  changed(change: MessageTail): void
  ended(end: { readonly code: number; readonly message: string }): void
  /** False while its connection is behind: it gets a new snapshot once it has caught up. */
  readonly isReady: boolean
}

/** What a follower has of the table: nothing, the rows before `rest`, or all. */
interface Progress<Row> {
  hasBegun: boolean
  rest: MapIterator<Row> | undefined
}

export interface TableOptions<Row> {
  readonly keyOf: (row: Row) => string
  readonly clock: Clock
  /** Oldest rows beyond these leave. Absent: no bound of its own. */
  readonly mostRows?: number
  /** Rows of one part of a snapshot. */
  readonly partRows?: number
}

export class LiveTable<Row> {
  readonly #rows = new Map<string, Row>()
  readonly #followers = new Map<TableFollower, Progress<Row>>()
  readonly #options: TableOptions<Row>
  #dirty = new Map<string, Row | undefined>()
  #cancel: (() => void) | undefined
  #isWhole = false

  constructor(options: TableOptions<Row>) {
    this.#options = options
  }

  get size(): number {
    return this.#rows.size
  }

  get followers(): number {
    return this.#followers.size
  }

  get(key: string): Row | undefined {
    return this.#rows.get(key)
  }

  values(): Iterable<Row> {
    return this.#rows.values()
  }

  /** The rows are everything that there is. */
  replace(rows: readonly Row[]): void {
    const { keyOf } = this.#options
    const keys = new Set(rows.map(keyOf))
    for (const key of this.#rows.keys()) if (!keys.has(key)) this.delete(key)
    for (const row of rows) this.set(row)
    this.#isWhole = true
    this.#plan()
  }

  set(row: Row): void {
    const key = this.#options.keyOf(row)
    this.#rows.set(key, row)
    this.#note(key, row)
    const { mostRows = Infinity } = this.#options
    if (this.#rows.size > mostRows) {
      const [oldest] = this.#rows.keys()
      if (oldest !== undefined) this.delete(oldest)
    }
  }

  delete(key: string): void {
    if (!this.#rows.delete(key)) return
    this.#note(key, undefined)
  }

  /** The follower gets a snapshot once the table is whole. Returns how it leaves. */
  follow(follower: TableFollower): () => void {
    this.#followers.set(follower, { hasBegun: false, rest: undefined })
    this.#plan()
    return () => this.#followers.delete(follower)
  }

  /** Ends all subscriptions; the rows are forgotten. */
  end(reason: { readonly code: number; readonly message: string }): void {
    const followers = [...this.#followers.keys()]
    this.#followers.clear()
    this.clear()
    for (const follower of followers) follower.ended(reason)
  }

  /** Forgets all rows without telling anyone. */
  clear(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#rows.clear()
    this.#dirty.clear()
    this.#isWhole = false
  }

  #plan(): void {
    this.#cancel ??= this.#options.clock.after(joinMs, () => this.#flush())
  }

  /** Until the table is whole, no page has anything that could change. */
  #note(key: string, row: Row | undefined): void {
    if (!this.#isWhole) return
    this.#dirty.set(key, row)
    this.#plan()
  }

  #flush(): void {
    this.#cancel = undefined
    if (!this.#isWhole) return
    const dirty = this.#dirty
    this.#dirty = new Map()
    let change: MessageTail | undefined
    let isBehind = false
    for (const [follower, progress] of this.#followers) {
      if (!follower.isReady) {
        progress.hasBegun = false
        progress.rest = undefined
        isBehind = true
      } else if (!progress.hasBegun) {
        progress.hasBegun = true
        // It goes on with rows that are added meanwhile, and leaves out those that are deleted.
        progress.rest = this.#rows.values()
        this.#sendPart(follower, progress, true)
      } else if (dirty.size > 0) {
        change ??= changeOf(dirty)
        follower.changed(change)
      }
    }
    if (isBehind) this.#plan()
  }

  /** Sends the next rows of the snapshot, and the others after them, unless the follower has left or must begin again. */
  #sendPart(follower: TableFollower, progress: Progress<Row>, isFirst: boolean): void {
    const { rest } = progress
    if (rest === undefined) return
    const { partRows = usualPartRows } = this.#options
    const rows: Row[] = []
    while (rows.length < partRows) {
      const { done, value } = rest.next()
      if (done === true) break
      rows.push(value)
    }
    const more = rows.length === partRows
    if (!more) progress.rest = undefined
    follower.snapshot(snapshotTail(rows, { isFirst, more }), () => {
      const isWanted = this.#followers.get(follower) === progress && progress.rest === rest
      if (isWanted) this.#sendPart(follower, progress, false)
    })
  }
}

function changeOf<Row>(dirty: ReadonlyMap<string, Row | undefined>): MessageTail {
  const set: Row[] = []
  const gone: string[] = []
  for (const [key, row] of dirty) {
    if (row === undefined) gone.push(key)
    else set.push(row)
  }
  return changeTail(set, gone)
}
