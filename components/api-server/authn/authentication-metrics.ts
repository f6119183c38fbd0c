/** Metrics of authentication (upstream: apiserver pkg/endpoints/filters/metrics.go). */
import type { Clock } from '../../component-base/clock.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import type { AuthenticateRequest, AuthenticationOutcome } from './union.ts'

/** Upper bounds in seconds of authentication and authorization, upstream's: from a millisecond, twice as long each. */
export const accessBuckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index)

/** The user names that get a label value of their own, since the number of users is unbounded. */
const knownUsers = new Set(['admin', 'client', 'kube_proxy', 'kubelet', 'system:serviceaccount'])

function userLabel(name: string): string {
  if (knownUsers.has(name)) return name
  return name.includes('@') ? 'email_id' : 'other'
}

/** The same authentication, counted and timed. */
export function measuredAuthentication(
  authenticate: AuthenticateRequest,
  metrics: Metrics,
  clock: Clock,
): AuthenticateRequest {
  const users = metrics.counter({
    name: 'authenticated_user_requests',
    help: 'Authenticated requests by user name.',
    labels: ['username'],
  })
  const attempts = metrics.counter({
    name: 'authentication_attempts',
    help: 'Authentication attempts by result.',
    labels: ['result'],
  })
  const durations = metrics.histogram({
    name: 'authentication_duration_seconds',
    help: 'Time that authentication took, by result, in seconds.',
    labels: ['result'],
    buckets: accessBuckets,
  })
  const byResult = (result: string) => ({
    count: attempts.with(result),
    seconds: durations.with(result),
  })
  const results = { user: byResult('success'), unauthorized: byResult('failure') }
  const faulty = byResult('error')
  const note = (outcome: AuthenticationOutcome, startedMs: number): AuthenticationOutcome => {
    const { count, seconds } = results[outcome.kind]
    count.inc()
    seconds.observe((clock.now() - startedMs) / 1000)
    if (outcome.kind === 'user') users.with(userLabel(outcome.user.name)).inc()
    return outcome
  }
  return (request) => {
    const startedMs = clock.now()
    const outcome = authenticate(request)
    if (!(outcome instanceof Promise)) return note(outcome, startedMs)
    return outcome.then(
      (settled) => note(settled, startedMs),
      (error: unknown) => {
        faulty.count.inc()
        faulty.seconds.observe((clock.now() - startedMs) / 1000)
        throw error
      },
    )
  }
}
