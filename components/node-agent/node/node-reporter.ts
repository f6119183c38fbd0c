/** NodeReporter: keeps the Node's status up to date: at once when something changed, else every five minutes. */
import type { Node, NodeStatus } from '../../api/generated/types.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { createBackoff } from '../../component-base/backoff.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { NodeStatusInput } from './node-status.ts'
import { isOverruled, isStatusNews, nodeStatusOf, reportDueIn } from './node-status.ts'

export interface NodeReporterOptions {
  readonly nodes: ResourceClient<Node>
  readonly nodeName: string
  /** The state of things now. */
  readonly observe: () => Promise<Omit<NodeStatusInput, 'nowMs'>>
  /** What the Node says so far, so that transition times survive a restart of the agent. */
  readonly initial: NodeStatus | undefined
  /** How often things are looked at. */
  readonly lookEveryMs: number
  readonly clock: Clock
  readonly log: Log
}

export interface NodeReporter {
  run(signal: AbortSignal): Promise<void>
  /** Look now: something may have changed. */
  wake(): void
  /** What the server has now: another's verdict on a condition that was reported is answered with a new report. */
  seen(status: NodeStatus | undefined): void
  /** Resolves once the first report is written. */
  readonly reported: Promise<void>
}

export function createNodeReporter(options: NodeReporterOptions): NodeReporter {
  const { nodes, nodeName, observe, lookEveryMs, clock, log } = options
  const { promise: reported, resolve: nowReported } = Promise.withResolvers<void>()
  let wakeUp: AbortController | undefined
  let isWoken = false
  let last: NodeStatus | undefined
  let hasToRepeat = false

  const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
    if (isWoken) return
    const waking = new AbortController()
    wakeUp = waking
    try {
      await clock.sleep(ms, AbortSignal.any([signal, waking.signal]))
    } catch (error) {
      signal.throwIfAborted()
      if (!waking.signal.aborted) throw error
    }
  }

  return {
    reported,
    seen(status) {
      // Fields of others, and texts that the server writes in its own way, are no reason to report again.
      if (last !== undefined && isOverruled(last, status)) hasToRepeat = true
    },
    wake() {
      isWoken = true
      wakeUp?.abort(new Error('woken'))
    },
    async run(signal) {
      const backoff = createBackoff({ initialMs: 200, maxMs: 10_000, jitter: 0.2 }, () =>
        clock.random(),
      )
      let lastReportMs: number | undefined
      // What was removed from allocatable, until the informer shows it.
      let removed: readonly string[] = []
      for (;;) {
        isWoken = false
        const nowMs = clock.now()
        const seen = await observe()
        const next = nodeStatusOf({ ...seen, nowMs }, last ?? options.initial)
        const { dropped = [] } = seen
        removed = removed.filter((name) => dropped.includes(name))
        const hasToRemove = dropped.some((name) => !removed.includes(name))
        const isNews = hasToRepeat || hasToRemove || isStatusNews(last, next)
        const dueMs = reportDueIn({ isNews, lastReportMs, nowMs })
        if (dueMs > 0) {
          await pause(Math.min(dueMs, lookEveryMs), signal)
          continue
        }
        try {
          const how = { type: 'strategic', subresource: 'status', signal } as const
          const removals = Object.fromEntries(dropped.map((name) => [name, null]))
          const allocatable = { ...next.allocatable, ...removals }
          await nodes.patch({ name: nodeName }, { status: { ...next, allocatable } }, how)
          hasToRepeat = false
          removed = dropped
          last = next
          lastReportMs = nowMs
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
