/** Metrics of authorization (upstream: apiserver pkg/endpoints/filters/metrics.go and pkg/authorization/metrics). */
import type { Clock } from '../../component-base/clock.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import { accessBuckets } from '../authn/authentication-metrics.ts'
import type { Authorizer, Decision } from './authorizer.ts'

/** The same authorizer, counted and timed. */
export function measuredAuthorizer(
  authorizer: Authorizer,
  metrics: Metrics,
  clock: Clock,
): Authorizer {
  const attempts = metrics.counter({
    name: 'authorization_attempts_total',
    help: 'Authorization attempts by result.',
    labels: ['result'],
  })
  const durations = metrics.histogram({
    name: 'authorization_duration_seconds',
    help: 'Time that authorization took, by result, in seconds.',
    labels: ['result'],
    buckets: accessBuckets,
  })
  const byResult = (result: string) => ({
    count: attempts.with(result),
    seconds: durations.with(result),
  })
  const results = {
    allow: byResult('allowed'),
    deny: byResult('denied'),
    'no-opinion': byResult('no-opinion'),
  }
  const note = (decision: Decision, startedMs: number): Decision => {
    const { count, seconds } = results[decision.decision]
    count.inc()
    seconds.observe((clock.now() - startedMs) / 1000)
    return decision
  }
  return {
    ...authorizer,
    authorize: (attributes) => {
      const startedMs = clock.now()
      const decision = authorizer.authorize(attributes)
      return decision instanceof Promise
        ? decision.then((settled) => note(settled, startedMs))
        : note(decision, startedMs)
    },
  }
}

/** One module of the chain, with its decisions counted under its name (DISC-009); no opinion is not counted. */
export function countDecisions(metrics: Metrics): (module: Authorizer, type: string) => Authorizer {
  const decisions = metrics.counter({
    name: 'apiserver_authorization_decisions_total',
    help: 'Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision.',
    labels: ['type', 'name', 'decision'],
  })
  return (module, type) => {
    const allowed = decisions.with(type, module.name, 'allowed')
    const denied = decisions.with(type, module.name, 'denied')
    const note = (decision: Decision): Decision => {
      if (decision.decision === 'allow') allowed.inc()
      else if (decision.decision === 'deny') denied.inc()
      return decision
    }
    return {
      ...module,
      authorize: (attributes) => {
        const decision = module.authorize(attributes)
        return decision instanceof Promise ? decision.then(note) : note(decision)
      },
    }
  }
}
