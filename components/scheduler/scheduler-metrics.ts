/** The scheduler's metrics under upstream's names, as Prometheus text. */
import type { SchedulingQueue } from './scheduling-queue.ts'
import type { SchedulerMetrics } from './scheduler.ts'

const bounds = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024]

export interface SchedulerMetricsText extends SchedulerMetrics {
  text(): string
}

/** Counts attempts by result and shows how many pods wait where. */
export function createSchedulerMetrics(
  queue: SchedulingQueue,
  schedulerName: string,
): SchedulerMetricsText {
  const attempts = new Map<string, { count: number; sum: number; buckets: number[] }>()
  return {
    attempt(result, seconds) {
      let entry = attempts.get(result)
      if (entry === undefined) {
        entry = { count: 0, sum: 0, buckets: bounds.map(() => 0) }
        attempts.set(result, entry)
      }
      entry.count += 1
      entry.sum += seconds
      for (const [index, bound] of bounds.entries()) {
        if (seconds <= bound) entry.buckets[index] = (entry.buckets[index] ?? 0) + 1
      }
    },
    text() {
      const counter = 'scheduler_schedule_attempts_total'
      const histogram = 'scheduler_scheduling_attempt_duration_seconds'
      const lines = [
        `# HELP ${counter} Number of attempts to schedule pods, by the result.`,
        `# TYPE ${counter} counter`,
      ]
      const labels = (result: string): string => `profile="${schedulerName}",result="${result}"`
      for (const [result, { count }] of attempts)
        lines.push(`${counter}{${labels(result)}} ${count}`)
      lines.push(
        `# HELP ${histogram} Scheduling attempt latency in seconds (decision and binding).`,
        `# TYPE ${histogram} histogram`,
      )
      for (const [result, { count, sum, buckets }] of attempts) {
        const at = labels(result)
        buckets.forEach((below, index) => {
          lines.push(`${histogram}_bucket{${at},le="${bounds[index]}"} ${below}`)
        })
        lines.push(
          `${histogram}_bucket{${at},le="+Inf"} ${count}`,
          `${histogram}_sum{${at}} ${sum}`,
          `${histogram}_count{${at}} ${count}`,
        )
      }
      const gauge = 'scheduler_pending_pods'
      lines.push(
        `# HELP ${gauge} Number of pending pods, by the queue type.`,
        `# TYPE ${gauge} gauge`,
      )
      for (const [room, size] of Object.entries(queue.sizes)) {
        lines.push(`${gauge}{queue="${room}"} ${size}`)
      }
      return `${lines.join('\n')}\n`
    },
  }
}
