/** The watches of a story: each is a chain of streams, every one of which goes on where the one before it ended. */
import { admin, type TestWatch } from '../../support/api-client.ts'
import { revisionOf, shown, type ShownEvent } from './history.ts'
import { pathFor } from './reader.ts'
import type { Recorder } from './recorder.ts'
import type { Selection } from './selections.ts'
import type { StepOf } from './steps.ts'
import type { Subject } from './subject.ts'
import type { Memory } from './writer.ts'

/** One stream and how it began. */
export interface Stream {
  readonly selection: Selection
  /** The version it follows from; undefined when it begins with what is there. */
  readonly from: { readonly revision: number; readonly sinceMs: number } | undefined
  /** The version that what is there must have reached. */
  readonly atLeast: number
  readonly bookmarks: boolean
  /** `sendInitialEvents` was asked for. */
  readonly marksInitial: boolean
  readonly acksBefore: number
  /** Settled when the request for it was answered. */
  answer?: { killsAtEnd: number; endedAtMs: number; startsAtEnd: number; error?: unknown }
  watch?: TestWatch
  /** The server ended it or died, or the client left: it need not have shown everything. */
  isOver: boolean
  /** Why, when the client left. */
  isLeft?: boolean
  endedAt?: { kills: number; nowMs: number }
}

export const eventsOf = (stream: Stream): ShownEvent[] =>
  (stream.watch?.waiting ?? [])
    .filter(({ type }) => type !== 'ERROR')
    .map(({ type, object }) => ({ type, object: shown(object) }))

/** The code of the Status that a stream ended with, if it did. */
export const failureOf = (stream: Stream): number | undefined =>
  stream.watch?.waiting.find(({ type }) => type === 'ERROR')?.object.code as number | undefined

export class Watches {
  readonly streams: Stream[] = []
  readonly #subject: Subject
  readonly #recorder: Recorder
  readonly #memory: Memory
  readonly #at: string

  constructor(options: { subject: Subject; recorder: Recorder; memory: Memory; at: string }) {
    this.#subject = options.subject
    this.#recorder = options.recorder
    this.#memory = options.memory
    this.#at = options.at
  }

  async open(request: StepOf<'watch'>): Promise<void> {
    const { mode, selection, bookmarks } = request
    const asked = this.#memory.version(request.age)
    const marksInitial = mode === 'initial' || mode === 'initial-from'
    const query: Record<string, string> = {
      ...(mode === 'zero' ? { resourceVersion: '0' } : {}),
      ...(mode === 'from' || mode === 'initial-from'
        ? { resourceVersion: String(asked.revision) }
        : {}),
      ...(marksInitial ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' } : {}),
    }
    const stream: Stream = {
      selection,
      from: mode === 'from' ? asked : undefined,
      atLeast: mode === 'initial-from' ? asked.revision : 0,
      bookmarks,
      marksInitial,
      acksBefore: this.#recorder.acks,
      isOver: false,
    }
    await this.#start(stream, query)
  }

  /** Leaves one watch and comes back to where it was. */
  async reconnect(request: StepOf<'reconnect'>): Promise<void> {
    const open = this.streams.filter((stream) => stream.watch !== undefined && !stream.isOver)
    const stream = open[request.which % Math.max(1, open.length)]
    if (stream === undefined) return
    stream.isOver = true
    stream.isLeft = true
    stream.watch?.close()
    await stream.watch?.ended
    const last = eventsOf(stream).at(-1)
    // Initial events are no place to come back to before all of them are there.
    const hasPlace = stream.from !== undefined && last !== undefined
    const from = hasPlace ? this.#memory.since(revisionOf(last.object)) : this.#memory.version(0)
    const { selection, bookmarks } = stream
    await this.#start(
      {
        selection,
        from,
        atLeast: 0,
        bookmarks,
        marksInitial: false,
        acksBefore: this.#recorder.acks,
        isOver: false,
      },
      { resourceVersion: String(from.revision) },
    )
  }

  async #start(stream: Stream, query: Record<string, string>): Promise<void> {
    this.streams.push(stream)
    const path = pathFor(stream.selection, this.#at, {
      watch: '1',
      ...(stream.bookmarks ? { allowWatchBookmarks: 'true' } : {}),
      ...query,
    })
    let error: unknown
    try {
      const watch = await this.#subject.watch(path, { as: admin })
      stream.watch = watch
      void watch.ended.then(() => {
        stream.isOver = true
        stream.endedAt = { kills: this.#recorder.kills, nowMs: this.#subject.nowMs() }
      })
    } catch (failure) {
      error = failure
      stream.isOver = true
    }
    stream.answer = {
      killsAtEnd: this.#recorder.kills,
      endedAtMs: this.#subject.nowMs(),
      startsAtEnd: this.#recorder.starts,
      ...(error === undefined ? {} : { error }),
    }
  }

  close(): void {
    for (const { watch } of this.streams) watch?.close()
  }
}
