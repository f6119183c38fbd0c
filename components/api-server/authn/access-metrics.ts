/** Metrics of authentication and authorization: attempts and their durations, by result. */
import type { Clock } from '../../component-base/clock.ts'
import type { Metrics } from '../../component-base/metrics.ts'

/** Upper bounds in seconds, upstream's: from a millisecond, twice as long each. */
const buckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index)

interface Metric {
  readonly name: string
  readonly help: string
}

interface Measured<Outcome> {
  readonly metrics: Metrics
  readonly clock: Clock
  readonly attempts: Metric
  readonly durations: Metric
  /** The labels that are shown from the start. */
  readonly results: readonly string[]
  /** The label of an outcome. A promise that is rejected is an `error`. */
  readonly resultOf: (outcome: Outcome) => string
}

/** The same question, with its outcomes counted and timed. */
export function measuredAccess<Input, Outcome>(
  ask: (input: Input) => Outcome | Promise<Outcome>,
  { metrics, clock, attempts, durations, results, resultOf }: Measured<Outcome>,
): (input: Input) => Outcome | Promise<Outcome> {
  const count = metrics.counter({ ...attempts, labels: ['result'] })
  const seconds = metrics.histogram({ ...durations, labels: ['result'], buckets })
  const seriesOf = (result: string) => ({
    count: count.with(result),
    seconds: seconds.with(result),
  })
  const known = new Map(results.map((result) => [result, seriesOf(result)]))
  const note = (result: string, startedMs: number): void => {
    const series = known.get(result) ?? seriesOf(result)
    series.count.inc()
    series.seconds.observe((clock.now() - startedMs) / 1000)
  }
  return (input) => {
    const startedMs = clock.now()
    const outcome = ask(input)
    if (!(outcome instanceof Promise)) {
      note(resultOf(outcome), startedMs)
      return outcome
    }
    return outcome.then(
      (settled) => {
        note(resultOf(settled), startedMs)
        return settled
      },
      (error: unknown) => {
        note('error', startedMs)
        throw error
      },
    )
  }
}
