/** Every watch shows exactly the commits after where it began: none lost, none twice, none out of order. */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { isSame, revisionOf, type History, type ShownEvent } from './history.ts'
import type { Recorder } from './recorder.ts'
import { eventsOf, failureOf, type Stream, type Watches } from './watches.ts'

/** How long the last events may take to arrive. */
const withinMs = 60_000
/** A watch without a timeout lasts at least this long. */
const shortestWatchMs = 30 * 60_000

interface Known {
  readonly recorder: Recorder
  readonly history: History
}

export async function checkWatches(watches: Watches, known: Known): Promise<void> {
  const end = performance.now() + withinMs
  for (const stream of watches.streams) {
    checkEnd(stream, known)
    if (stream.watch === undefined) continue
    while (!isRight(stream, known)) {
      if (performance.now() > end) assert.fail(told(stream, known))
      await delay(2)
    }
  }
  // What came too much may have come late.
  for (const stream of watches.streams) {
    if (stream.watch !== undefined) assert.ok(isRight(stream, known), told(stream, known))
  }
}

const line = ({ type, object }: ShownEvent): string =>
  `${type} ${object.metadata.name} ${object.metadata.resourceVersion}`

function told(stream: Stream, { history }: Known): string {
  const { selection, from, marksInitial, isOver } = stream
  const commits = history.commits.map(({ revision, name, object }) =>
    object === undefined ? `${revision} deletes ${name}` : `${revision} writes ${name}`,
  )
  return [
    `a watch of ${selection.name} from ${from?.revision ?? 'what is there'}`,
    `${marksInitial ? 'with marked initial events, ' : ''}${isOver ? 'over' : 'open'}, showed`,
    ...eventsOf(stream).map(line),
    'of',
    ...commits,
  ].join('\n')
}

function checkEnd(stream: Stream, { recorder }: Known): void {
  const { answer, from, endedAt } = stream
  assert.ok(answer !== undefined)
  const { error } = answer
  if (error !== undefined) {
    assert.ok(recorder.kills > 0, error instanceof Error ? error.message : 'refused')
    return
  }
  const code = failureOf(stream)
  if (code !== undefined) {
    assert.equal(code, 410)
    assert.ok(from !== undefined && recorder.mayBeGone(from, answer), 'expired too early')
    return
  }
  if (endedAt === undefined || stream.isLeft === true) return
  const isEntitled = endedAt.kills > 0 || endedAt.nowMs - answer.endedAtMs >= shortestWatchMs
  assert.ok(isEntitled, `a watch of ${stream.selection.name} was ended by the server`)
}

/** True when what came is what had to come, up to now. */
function isRight(stream: Stream, { recorder, history }: Known): boolean {
  const { from, selection, answer } = stream
  const events = eventsOf(stream)
  if (from !== undefined) return follows(stream, events, { revision: from.revision, history })
  const low = Math.max(recorder.low(stream, history), stream.atLeast)
  const high = recorder.high({ startsAtEnd: answer?.startsAtEnd ?? Infinity }, history)
  const starts = [low, ...history.after(low).map(({ revision }) => revision)]
  return starts
    .filter((revision) => revision <= Math.max(low, high))
    .some((revision) => beginsWith(stream, events, { revision, history, selection }))
}

/** Initial events for the state at a revision, the mark if one was asked for, then what came after. */
function beginsWith(
  stream: Stream,
  events: readonly ShownEvent[],
  at: { revision: number; history: History; selection: Stream['selection'] },
): boolean {
  if (at.history.isInGap(at.revision)) return true
  const state = at.history.list(at.revision, at.selection)
  const initial = state.map((object): ShownEvent => ({ type: 'ADDED', object }))
  const shown = events.slice(0, initial.length)
  // Cut short by the end of the stream, the beginning alone must fit.
  if (stream.isOver && shown.length < initial.length)
    return isSame(shown, initial.slice(0, shown.length))
  if (!isSame(shown, initial)) return false
  const rest = events.slice(initial.length)
  if (!stream.marksInitial || !stream.bookmarks) return follows(stream, rest, at)
  const [mark] = rest
  if (mark === undefined) return stream.isOver
  const marked = revisionOf(mark.object)
  if (mark.type !== 'BOOKMARK' || marked < at.revision) return false
  if (at.history.commits.some(({ revision }) => revision > at.revision && revision <= marked)) {
    return false
  }
  return follows(stream, rest.slice(1), at)
}

/** The events are those after the revision, a prefix of them when the stream is over; a bookmark stands where it says. */
function follows(
  stream: Stream,
  events: readonly ShownEvent[],
  at: { revision: number; history: History },
): boolean {
  const { history } = at
  const expected = history.events(at.revision, stream.selection)
  let index = 0
  let reached = at.revision
  for (const event of events) {
    const revision = revisionOf(event.object)
    if (revision < reached) return false
    reached = revision
    // What happened there is known in part only.
    if (history.isInGap(revision)) return true
    if (event.type === 'BOOKMARK') {
      if (!stream.bookmarks) return false
      const next = expected[index]
      if (next !== undefined && revisionOf(next.object) <= revision) return false
      continue
    }
    if (!isSame(event, expected[index])) return false
    index += 1
  }
  return stream.isOver || index === expected.length
}
