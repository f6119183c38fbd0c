/** Lease (upstream: pkg/apis/coordination/validation). */
import type { LeaseSpec, Lease } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validation } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { mustNotBeNegative } from '../rules/field-rules.ts'
import { validateElection } from './election-rules.ts'

function validateLease(object: KubeObject, root: FieldPath): void {
  const at = root.child('spec')
  const { leaseDurationSeconds, leaseTransitions, strategy, preferredHolder }: LeaseSpec =
    (object as Lease).spec ?? {}
  if (typeof leaseDurationSeconds === 'number' && leaseDurationSeconds <= 0) {
    at.child('leaseDurationSeconds').invalid(leaseDurationSeconds, 'must be greater than 0')
  }
  if (typeof leaseTransitions === 'number' && leaseTransitions < 0) {
    at.child('leaseTransitions').invalid(leaseTransitions, mustNotBeNegative)
  }
  if (typeof strategy === 'string') validateElection(strategy, at.child('strategy'))
  if (preferredHolder && !strategy) {
    at.child('preferredHolder').forbidden('may only be specified if `strategy` is defined')
  }
}

/** Coordinated election is off by default: its fields stay only where they were. */
function dropElectionFields(object: KubeObject, old?: KubeObject): void {
  const { spec } = object as Lease
  const before = (old as Lease | undefined)?.spec
  for (const field of ['strategy', 'preferredHolder'] as const) {
    if (spec && before?.[field] === undefined) delete spec[field]
  }
}

export const leaseStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  prepareForCreate: (object) => dropElectionFields(object),
  prepareForUpdate: dropElectionFields,
  ...validation(validateLease),
}
