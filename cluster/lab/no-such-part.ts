/** Errors about parts that a fault names. */
import { ClusterError } from '../cluster-error.ts'
import { nearestName } from '../../components/component-base/flags.ts'
import type { NamedFault } from './levers.ts'

/** The fault names a part that is not there. `parts`: those that it could name. */
export function noSuchPart(part: string, parts: readonly string[]): ClusterError {
  const nearest = nearestName(part, parts)
  return new ClusterError('not-found', `there is no part "${part}" to break`, {
    hint: nearest === undefined ? `parts: ${parts.join(', ')}` : `did you mean ${nearest}?`,
  })
}

/** This form of a cluster, or this part, has no such fault. */
export function cannotHold(fault: NamedFault, why: string, hint?: string): ClusterError {
  return new ClusterError('usage', `fault "${fault.name}" cannot be made here: ${why}`, { hint })
}
