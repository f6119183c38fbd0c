/** too-large-version: the answer to a resourceVersion that this server has not seen yet. */
import { StatusError } from '../../machinery/objects/status-error.ts'

/** The Retry-After of a read at a revision that this server has not seen yet. */
const notYetSeconds = 1

/** 504 for a resourceVersion from the future. */
export function tooLargeVersion(wanted: number, current: number): StatusError {
  return new StatusError(
    'Timeout',
    `Timeout: Too large resource version: ${wanted}, current: ${current}`,
    {
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: notYetSeconds,
      },
    },
  )
}
