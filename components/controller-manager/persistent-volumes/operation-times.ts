/** OperationTimes: how long volumes take to be made and deleted, from end to end (upstream: OperationStartTimeCache). */
import type { Clock } from '../../component-base/clock.ts'
import type { VolumeMetrics } from '../volume-metrics.ts'

export interface OperationTimes {
  /** No-op while one of that key is under way. */
  begin(key: string, plugin: string, operation: 'provision' | 'delete'): void
  /** Records how long it took, if it was begun. */
  end(key: string): void
  /** Records an error of what is under way; it goes on. */
  fail(key: string): void
  /** What was begun never ends. */
  forget(key: string): void
}

export function createOperationTimes(
  { wholeSeconds, operationErrors }: Pick<VolumeMetrics, 'wholeSeconds' | 'operationErrors'>,
  clock: Clock,
): OperationTimes {
  const begun = new Map<string, { labels: readonly [string, string]; startedMs: number }>()
  return {
    begin: (key, plugin, operation) => {
      if (!begun.has(key))
        begun.set(key, { labels: [plugin, operation], startedMs: clock.elapsed() })
    },
    end: (key) => {
      const one = begun.get(key)
      if (one === undefined) return
      begun.delete(key)
      wholeSeconds.with(...one.labels).observe((clock.elapsed() - one.startedMs) / 1000)
    },
    fail: (key) => {
      const one = begun.get(key)
      if (one !== undefined) operationErrors.with(...one.labels).inc()
    },
    forget: (key) => void begun.delete(key),
  }
}
