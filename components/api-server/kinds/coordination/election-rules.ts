/** Rules of coordinated leader election that Lease and LeaseCandidate share (upstream: pkg/apis/coordination/validation). */
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { qualifiedName } from '../../../machinery/validation/names.ts'

export const oldestVersionFirst = 'OldestEmulationVersion'

export function validateElection(strategy: string, at: FieldPath): void {
  if (strategy.includes('/')) at.child('strategy').invalidEach(strategy, qualifiedName(strategy))
  else if (strategy !== oldestVersionFirst) {
    at.child('strategy').unsupported(strategy, [oldestVersionFirst])
  }
}
