/** Metrics of admission (upstream: apiserver pkg/admission/metrics). */
import type { Clock } from '../../component-base/clock.ts'
import type { Histogram, Metrics } from '../../component-base/metrics.ts'
import type { AdmissionRequest } from './admission.ts'
import type { AdmissionChain } from './chain.ts'

/** Upper bounds in seconds, upstream's. */
const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5]

/** The same chain, with both phases timed. */
export function measuredAdmission<Chain extends AdmissionChain>(
  chain: Chain,
  metrics: Metrics,
  clock: Clock,
): Chain {
  const durations = metrics.histogram({
    name: 'apiserver_admission_step_admission_duration_seconds',
    help: 'Time that a phase of admission took, by operation and type, and whether it refused, in seconds.',
    stability: 'STABLE',
    labels: ['operation', 'rejected', 'type'],
    buckets,
  })
  const timed = (type: string, step: AdmissionChain['mutate']): AdmissionChain['mutate'] => {
    const accepted = new Map<string, Histogram>()
    const note = (operation: string, rejected: string, startedMs: number): void => {
      const known = rejected === 'false' ? accepted.get(operation) : undefined
      const histogram = known ?? durations.with(operation, rejected, type)
      if (known === undefined && rejected === 'false') accepted.set(operation, histogram)
      histogram.observe((clock.now() - startedMs) / 1000)
    }
    return (request: AdmissionRequest) => {
      const { operation } = request
      const startedMs = clock.now()
      let pending: void | Promise<void>
      try {
        pending = step(request)
      } catch (error) {
        note(operation, 'true', startedMs)
        throw error
      }
      if (pending === undefined) {
        note(operation, 'false', startedMs)
        return undefined
      }
      return pending.then(
        () => note(operation, 'false', startedMs),
        (error: unknown) => {
          note(operation, 'true', startedMs)
          throw error
        },
      )
    }
  }
  return {
    ...chain,
    mutate: timed('admit', (request) => chain.mutate(request)),
    validate: timed('validate', (request) => chain.validate(request)),
  }
}
