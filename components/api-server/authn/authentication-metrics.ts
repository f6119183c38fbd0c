/** Metrics of authentication (upstream: apiserver pkg/endpoints/filters/metrics.go). */
import type { Clock } from '../../component-base/clock.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import { measuredAccess } from './access-metrics.ts'
import type { AuthenticateRequest, AuthenticationOutcome } from './union.ts'

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
  return measuredAccess(authenticate, {
    metrics,
    clock,
    attempts: {
      name: 'authentication_attempts',
      help: 'Authentication attempts by result.',
    },
    durations: {
      name: 'authentication_duration_seconds',
      help: 'Time that authentication took, by result, in seconds.',
    },
    results: ['success', 'failure', 'error'],
    resultOf: (outcome: AuthenticationOutcome) => {
      if (outcome.kind !== 'user') return 'failure'
      users.with(userLabel(outcome.user.name)).inc()
      return 'success'
    },
  })
}
