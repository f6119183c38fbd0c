/**
 * runMonitors: attaches monitors to a running cluster, keeps going over lost connections and restarts of the server, and reports what they
 * find. Rules get changes in the order of revisions.
 */
import type { Client } from '../components/client/client.ts'
import { createDiscovery } from '../components/client/server-resources.ts'
import { systemClock, type Clock } from '../components/component-base/clock.ts'
import type { Resource } from '../components/machinery/objects/resource.ts'
import { isSecret } from './built-in.ts'
import type { Change } from './change.ts'
import { watchCluster, type ClusterWatch } from './feed/cluster-watch.ts'
import { startJournalFeed, type JournalFeed } from './feed/journal-feed.ts'
import { createJudge, type Judge, type MonitorCounts } from './judge.ts'
import type { Monitor, Violation } from './monitor.ts'

export interface RunMonitorsOptions {
  /** Its owner closes it, after the run has been stopped. */
  readonly client: Client
  /** The cluster's. */
  readonly clock: Pick<Clock, 'now'>
  readonly monitors: readonly Monitor[]
  readonly onViolation?: ((violation: Violation) => void) | undefined
  /** What the monitors cannot see, and why; each line once. */
  readonly onNote?: ((text: string) => void) | undefined
  /** For waits on the network, which follow real time whatever the cluster's clock does; default the system's. */
  readonly networkClock?: Clock
}

export interface MonitorSummary {
  readonly monitors: readonly MonitorCounts[]
  /** Changes of objects and writes that were judged. */
  readonly changes: number
  readonly writes: number
  /** From the start to the end, by the cluster's clock. */
  readonly durationMs: number
  /** What the monitors could not see. */
  readonly notes: readonly string[]
}

export interface MonitorRun extends AsyncDisposable {
  /** So far, oldest first; 1,000 at most, while the summary counts all. */
  readonly violations: readonly Violation[]
  /** Judges everything up to now. False when the server does not answer in time. */
  settle(withinMs?: number): Promise<boolean>
  /** The cluster was given another state: what is known of its objects is forgotten. */
  restart(): void
  /** Judges everything up to now, if the server answers, and ends. Idempotent. */
  stop(): Promise<MonitorSummary>
}

/** The least time between two questions how far the server is; one that takes long to answer is asked less often. */
const leastPauseMs = 500
const pausePerAnswer = 10
const settleMs = 10_000
const lastSettleMs = 3000

interface Parts {
  readonly watch: ClusterWatch
  readonly journal: JournalFeed
  readonly judge: Judge
  readonly counts: { changes: number; writes: number }
  /** Watches kinds that have been added; false when none can have been. */
  readonly refreshKinds: () => Promise<boolean>
}

/** Notes, each passed on once. */
function createNotes(onNote: RunMonitorsOptions['onNote']) {
  const notes = new Set<string>()
  return {
    all: notes,
    add: (text: string): void => {
      if (!notes.has(text)) onNote?.(text)
      notes.add(text)
    },
  }
}

function absenceNotes(monitors: readonly Monitor[], why: string): string[] {
  const short = monitors.flatMap(({ name, withoutJournal }) =>
    withoutJournal === undefined ? [] : [`${name}: ${withoutJournal}`],
  )
  return [`${why} Who wrote is shown by field manager.`, ...short]
}

/** They tell of further kinds. */
const isDefinition = ({ plural }: Pick<Resource, 'plural'>): boolean =>
  plural === 'customresourcedefinitions'
const isWatchable = ({ verbs, virtual }: Resource): boolean =>
  !virtual && verbs.includes('list') && verbs.includes('watch')

async function startParts(
  options: RunMonitorsOptions,
  { signal, note }: { readonly signal: AbortSignal; readonly note: (text: string) => void },
): Promise<Parts> {
  const { client, clock, monitors, networkClock = systemClock } = options
  const discover = createDiscovery(client)
  const wanted = async (): Promise<Resource[]> =>
    (await discover(signal)).preferred.filter(
      (one) =>
        isWatchable(one) && (isDefinition(one) || monitors.some(({ watches }) => watches(one))),
    )
  const kinds = await wanted()
  const journal = await startJournalFeed({
    rest: client.rest,
    networkClock,
    signal,
    onAbsent: (why) => absenceNotes(monitors, why).forEach(note),
    onMissed: (count) => note(`the request journal left out ${count ?? 'some'} requests`),
  })
  const counts = { changes: 0, writes: 0 }
  let hasNewKinds = false
  const onChange = (change: Change): void => {
    counts.changes += 1
    hasNewKinds ||= isDefinition(change.resource)
    judge.take(change)
  }
  const { dialect } = client
  const watch = watchCluster({
    client,
    kinds,
    clock,
    networkClock,
    metadataOnly: isSecret,
    onChange,
    onReset: () => judge.reset(),
    onRefused: note,
  })
  const judge: Judge = createJudge({
    ...options,
    dialect,
    watched: () => watch.kinds,
    authorOf: journal.authorOf,
  })
  const refreshKinds = async (): Promise<boolean> => {
    if (!hasNewKinds) return false
    hasNewKinds = false
    // Without an answer, the next change of a definition asks again.
    watch.add(await wanted().catch(() => []))
    return true
  }
  return { watch, journal, judge, counts, refreshKinds }
}

async function settleParts(parts: Parts, withinMs: number): Promise<boolean> {
  const { watch, journal, judge, counts } = parts
  // First what was requested, so that the changes are judged with their authors known.
  await journal.settle()
  let isSettled = await watch.settle(withinMs)
  if (isSettled && (await parts.refreshKinds())) isSettled = await watch.settle(withinMs)
  for (const record of journal.take()) {
    counts.writes += 1
    judge.request(record)
  }
  judge.rest(isSettled)
  return isSettled
}

/** Settles again and again, with pauses, until the signal aborts. */
async function keepSettling(
  settle: () => Promise<boolean>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    const beganAt = clock.elapsed()
    await settle()
    const tookMs = clock.elapsed() - beganAt
    const pauseMs = Math.max(leastPauseMs, pausePerAnswer * tookMs)
    // Only the end of the run interrupts it.
    await clock.sleep(Math.min(pauseMs, settleMs), signal).catch(() => {})
  }
}

/** Rejects when the server cannot be reached at the start. */
export async function runMonitors(options: RunMonitorsOptions): Promise<MonitorRun> {
  const { clock, networkClock = systemClock } = options
  const startedMs = clock.now()
  const stopping = new AbortController()
  const { signal } = stopping
  const notes = createNotes(options.onNote)
  const parts = await startParts(options, { signal, note: notes.add })
  const { watch, journal, judge, counts } = parts
  const settle = (withinMs = settleMs): Promise<boolean> => settleParts(parts, withinMs)
  // What is there at the start is the state that changes are judged against.
  await settle()
  const going = keepSettling(() => settle(), { clock: networkClock, signal })
  const end = async (): Promise<MonitorSummary> => {
    await settle(lastSettleMs)
    stopping.abort(new Error('the monitors were stopped'))
    await Promise.all([watch[Symbol.asyncDispose](), going, journal.ended])
    const durationMs = clock.now() - startedMs
    return { monitors: judge.counts(), ...counts, durationMs, notes: [...notes.all] }
  }
  let ended: Promise<MonitorSummary> | undefined
  const stop = (): Promise<MonitorSummary> => (ended ??= end())
  return {
    violations: judge.violations,
    settle,
    restart: () => watch.forget(),
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  }
}
