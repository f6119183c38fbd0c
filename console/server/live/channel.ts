/** Channel: a table and what fills it, while pages follow it. Without a page nothing runs. */
import type { Clock } from '../../../components/component-base/clock.ts'
import { messageOf } from '../../../components/component-base/log.ts'
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import { LiveTable, type TableFollower, type TableOptions } from './table.ts'

/** A page that is loaded again does not make the source list everything again. */
const lingerMs = 10_000

export interface Channel<Row> {
  readonly table: LiveTable<Row>
  /** Starts the source with the first follower. Returns how it leaves; the source ends a while after the last one. */
  follow(follower: TableFollower): () => void
  close(): void
}

/**
 * `run` fills the table until its signal aborts. When it rejects, subscriptions end with the code and the message of the
 * StatusError, or 500.
 */
export function createChannel<Row>(
  options: TableOptions<Row> & {
    readonly clock: Clock
    readonly run: (table: LiveTable<Row>, signal: AbortSignal) => Promise<void>
  },
): Channel<Row> {
  const { clock } = options
  const table = new LiveTable<Row>(options)
  let running: AbortController | undefined
  let cancelEnd: (() => void) | undefined
  const stop = (): void => {
    running?.abort()
    running = undefined
    table.clear()
  }
  const start = (): void => {
    const mine = new AbortController()
    running = mine
    void (async () => {
      try {
        await options.run(table, mine.signal)
      } catch (error) {
        if (mine.signal.aborted) return
        running = undefined
        const code = isStatusError(error) ? error.code : 500
        table.end({ code, message: messageOf(error) })
      }
    })()
  }
  return {
    table,
    follow: (follower) => {
      cancelEnd?.()
      cancelEnd = undefined
      if (running === undefined) start()
      const leave = table.follow(follower)
      return () => {
        leave()
        if (table.followers === 0) cancelEnd ??= clock.after(lingerMs, stop)
      }
    },
    close: () => {
      cancelEnd?.()
      stop()
    },
  }
}
