/** Several authorizers as one: the first allow or deny wins. Members of `system:masters` bypass all of them. */
import type { AuthorizationAttributes } from '../request/request.ts'
import type { Authorizer, Decision } from './authorizer.ts'

export const privilegedGroup = 'system:masters'

const privileged: Decision = { decision: 'allow', reason: '' }

/** The decision when no module has an opinion: their reasons, one per line. */
function undecided(passed: readonly Decision[]): Decision {
  const reasons = passed.map(({ reason }) => reason).filter((reason) => reason !== '')
  const errors = passed.flatMap(({ evaluationError }) => evaluationError ?? [])
  return {
    decision: 'no-opinion',
    reason: reasons.join('\n'),
    ...(errors.length === 0 ? {} : { evaluationError: errors.join(', ') }),
  }
}

export function authorizeInOrder(modules: readonly Authorizer[]): Authorizer {
  function askFrom(
    attributes: AuthorizationAttributes,
    start: number,
    passed: Decision[],
  ): Decision | Promise<Decision> {
    for (let index = start; index < modules.length; index++) {
      const decision = modules[index]?.authorize(attributes)
      if (decision === undefined) break
      if (decision instanceof Promise) {
        return decision.then((settled) => {
          if (settled.decision !== 'no-opinion') return settled
          return askFrom(attributes, index + 1, [...passed, settled])
        })
      }
      if (decision.decision !== 'no-opinion') return decision
      passed.push(decision)
    }
    return undecided(passed)
  }

  return {
    name: 'union',
    authorize: (attributes) =>
      attributes.user.groups.includes(privilegedGroup) ? privileged : askFrom(attributes, 0, []),
    rulesFor(user, namespace) {
      const found = modules.flatMap((module) => module.rulesFor?.(user, namespace) ?? [])
      return {
        resourceRules: found.flatMap(({ resourceRules }) => resourceRules),
        nonResourceRules: found.flatMap(({ nonResourceRules }) => nonResourceRules),
        incomplete:
          found.some(({ incomplete }) => incomplete) ||
          modules.some((module) => module.rulesFor === undefined),
        errors: found.flatMap(({ errors }) => errors ?? []),
      }
    },
  }
}
