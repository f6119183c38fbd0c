/** Metrics of authorization (upstream: apiserver pkg/endpoints/filters/metrics.go and pkg/authorization/metrics). */
import type { Clock } from '../../component-base/clock.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import { measuredAccess } from '../authn/access-metrics.ts'
import type { Authorizer, Decision } from './authorizer.ts'

const results = { allow: 'allowed', deny: 'denied', 'no-opinion': 'no-opinion' } as const

/** The same authorizer, counted and timed. */
export function measuredAuthorizer(
  authorizer: Authorizer,
  metrics: Metrics,
  clock: Clock,
): Authorizer {
  return {
    ...authorizer,
    authorize: measuredAccess((attributes) => authorizer.authorize(attributes), {
      metrics,
      clock,
      attempts: {
        name: 'authorization_attempts_total',
        help: 'Authorization attempts by result.',
      },
      durations: {
        name: 'authorization_duration_seconds',
        help: 'Time that authorization took, by result, in seconds.',
      },
      results: Object.values(results),
      resultOf: ({ decision }: Decision) => results[decision],
    }),
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
