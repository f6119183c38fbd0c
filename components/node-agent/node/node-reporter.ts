/** NodeReporter: keeps the Node's status up to date: at once when something changed, else every five minutes. */
import type { Node, NodeStatus } from '../../api/generated/types.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { currentCause, timerCause, withCause, type Cause } from '../../client/cause.ts'
import { createBackoff } from '../../component-base/backoff.ts'
import { upkeepOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { NodeStatusInput } from './node-status.ts'
import { untilNextTurn, type Turn } from './turn.ts'
import { isOverruled, isStatusNews, nodeStatusOf, reportDueIn } from './node-status.ts'

export interface NodeReporterOptions {
  readonly nodes: ResourceClient<Node>
  readonly nodeName: string
  /** Observes the node's current state. */
  readonly observe: () => Promise<Omit<NodeStatusInput, 'nowMs'>>
  /** The Node's status so far, so that transition times survive a restart of the agent. */
  readonly initial: NodeStatus | undefined
  /** The status that the agent has just created the Node with: its first report. */
  readonly created?: NodeStatus | undefined
  /** Time between observations. */
  readonly lookEveryMs: number
  /** When it observes, and repeats a report without news; undefined: five minutes after the last. */
  readonly turn?: Turn | undefined
  readonly clock: Clock
  readonly log: Log
}

export interface NodeReporter {
  run(signal: AbortSignal): Promise<void>
  /** Observes at once: something may have changed. */
  wake(): void
  /** The server's current status: if another writer overruled a reported condition, a new report follows. */
  seen(status: NodeStatus | undefined): void
  /** Resolves once the first report is written; at once for a Node that was created with it. */
  readonly reported: Promise<void>
}

/** The reporter's memory between two looks. */
interface Reporting extends NodeReporterOptions {
  /** The status as last written. */
  last: NodeStatus | undefined
  lastReportMs: number | undefined
  /** Another writer overruled a condition, so the next report is due at once. */
  hasToRepeat: boolean
  /** Resources removed from allocatable, until the informer shows it. */
  removed: readonly string[]
  /** Why it was woken. */
  cause: Cause | undefined
}

/** It is time to look, or to repeat the report. */
const lookCause = timerCause('node status')

export function createNodeReporter(options: NodeReporterOptions): NodeReporter {
  const { lookEveryMs, created, turn, clock, log } = options
  const { promise: reported, resolve: nowReported } = Promise.withResolvers<void>()
  const lastReportMs = created === undefined ? undefined : clock.now()
  const start = { last: created, lastReportMs, hasToRepeat: false, removed: [], cause: undefined }
  const reporting: Reporting = { ...options, ...start }
  if (created !== undefined) nowReported()
  const alarm = createAlarm(clock)
  return {
    reported,
    seen: (status) => {
      // Other writers' fields, and texts that the server normalizes, are no reason to report again.
      if (reporting.last !== undefined && isOverruled(reporting.last, status))
        reporting.hasToRepeat = true
    },
    wake: () => {
      reporting.cause = currentCause()
      alarm.wake()
    },
    run: async (signal) => {
      const random = (): number => clock.random()
      const backoff = createBackoff({ initialMs: 200, maxMs: 10_000, jitter: 0.2 }, random)
      for (;;) {
        alarm.reset()
        const { cause = lookCause } = reporting
        reporting.cause = undefined
        const { dueMs, ...report } = await nextReport(reporting)
        if (dueMs > 0) {
          const lookInMs =
            turn === undefined ? lookEveryMs : untilNextTurn(turn, lookEveryMs, clock.now())
          await alarm.sleep(Math.min(dueMs, lookInMs), signal)
          continue
        }
        try {
          await withCause(cause, () => writeReport(reporting, report, signal))
          backoff.reset()
          nowReported()
        } catch (error) {
          signal.throwIfAborted()
          const retryMs = backoff.next()
          log.warn('reporting the node status failed', { retryMs, error: String(error) })
          await clock.sleep(retryMs, signal)
        }
      }
    },
  }
}

interface Report {
  readonly status: NodeStatus
  readonly dropped: readonly string[]
  readonly nowMs: number
}

/** Observes the node; `dueMs` is 0 when the report is to be written now. */
async function nextReport(reporting: Reporting): Promise<Report & { readonly dueMs: number }> {
  const { observe, initial, clock, last, lastReportMs, turn } = reporting
  const nowMs = clock.now()
  const seen = await observe()
  const status = nodeStatusOf({ ...seen, nowMs }, last ?? initial)
  const { dropped = [] } = seen
  reporting.removed = reporting.removed.filter((name) => dropped.includes(name))
  const hasToRemove = dropped.some((name) => !reporting.removed.includes(name))
  const isNews = reporting.hasToRepeat || hasToRemove || isStatusNews(last, status)
  return { status, dropped, nowMs, dueMs: reportDueIn({ isNews, lastReportMs, nowMs, turn }) }
}

async function writeReport(
  reporting: Reporting,
  { status, dropped, nowMs }: Report,
  signal: AbortSignal,
): Promise<void> {
  const { nodes, nodeName } = reporting
  const how = { type: 'strategic', subresource: 'status', signal } as const
  const removals = Object.fromEntries(dropped.map((name) => [name, null]))
  const allocatable = { ...status.allocatable, ...removals }
  await nodes.patch({ name: nodeName }, { status: { ...status, allocatable } }, how)
  reporting.hasToRepeat = false
  reporting.removed = dropped
  reporting.last = status
  reporting.lastReportMs = nowMs
}

/** A sleep that `wake` ends; a wake before the sleep, since the last `reset`, skips it. */
function createAlarm(clock: Clock) {
  let wakeUp: (() => void) | undefined
  let isWoken = false
  return {
    reset: (): void => {
      isWoken = false
    },
    wake: (): void => {
      isWoken = true
      wakeUp?.()
    },
    sleep: async (ms: number, signal: AbortSignal): Promise<void> => {
      if (isWoken) return
      signal.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const abort = (): void => reject(signal.reason as Error)
      const cancel = upkeepOf(clock).after(ms, resolve)
      signal.addEventListener('abort', abort, { once: true })
      wakeUp = resolve
      try {
        await promise
      } finally {
        cancel()
        signal.removeEventListener('abort', abort)
        wakeUp = undefined
      }
    },
  }
}
