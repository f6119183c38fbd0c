/**
 * isGone: whether a write of one certain object failed because that is gone: nothing has its name any more, or another object has it, with
 * another uid. A lost race is a Conflict, too, and says nothing of the kind: it is tried again. Servers tell the two apart in their message
 * alone (upstream: apiserver pkg/storage Preconditions.Check, pkg/registry/rest BeforeDelete).
 */
import { isStatusError } from '../machinery/objects/status-error.ts'

export function isGone(error: unknown): boolean {
  if (isStatusError(error, 'NotFound')) return true
  return isStatusError(error, 'Conflict') && /UID in (?:the )?precondition/.test(error.message)
}
