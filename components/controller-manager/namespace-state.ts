/** Whether a namespace takes new objects, and the refusals of one that does not. */
import type { Namespace } from '../api/generated/types.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'

/** False for a namespace that is gone or ending. */
export function isActive(namespace: Namespace | undefined): boolean {
  return (
    namespace !== undefined &&
    namespace.metadata.deletionTimestamp === undefined &&
    namespace.status?.phase !== 'Terminating'
  )
}

/** The namespace has ended, or begun to, since the cache was filled: there is nothing to do in it any more. */
export function isNamespaceEnding(error: unknown): boolean {
  if (isStatusError(error, 'NotFound')) return true
  const isEnding = ({ reason }: { reason?: string }): boolean => reason === 'NamespaceTerminating'
  return isStatusError(error, 'Forbidden') && error.details?.causes?.some(isEnding) === true
}
