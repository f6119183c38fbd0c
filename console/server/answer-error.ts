/** answerError: what went wrong with a request of the page, as a Status. */
import type { ServerResponse } from 'node:http'
import { ClusterError, type ClusterErrorKind } from '../../cluster/cluster-error.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import {
  isStatusError,
  StatusError,
  type Reason,
} from '../../components/machinery/objects/status-error.ts'
import { BodyTooLarge } from './request-body.ts'

const reasons: Readonly<Record<ClusterErrorKind, Reason>> = {
  failed: 'InternalError',
  usage: 'BadRequest',
  'not-found': 'NotFound',
  'already-exists': 'AlreadyExists',
  'not-running': 'ServiceUnavailable',
  timeout: 'Timeout',
  permission: 'Forbidden',
}

/** Undefined for an error that the viewer can do nothing about. */
function statusOf(error: unknown): StatusError | undefined {
  if (isStatusError(error)) return error
  if (error instanceof ConnectionError) return new StatusError('ServiceUnavailable', error.message)
  if (error instanceof BodyTooLarge) return new StatusError('RequestEntityTooLarge', error.message)
  if (!(error instanceof ClusterError)) return undefined
  const { kind, message, hint, details } = error
  const text = [hint === undefined ? message : `${message}: ${hint}`, ...details].join('\n')
  return new StatusError(reasons[kind], text)
}

/** Tells `onFault` of errors that the Status does not explain. */
export function answerError(
  response: ServerResponse,
  { error, onFault }: { readonly error: unknown; readonly onFault: (error: unknown) => void },
): void {
  const known = statusOf(error)
  if (known === undefined) onFault(error)
  if (response.headersSent) {
    response.destroy()
    return
  }
  const status = known ?? new StatusError('InternalError', 'the console failed; see its log')
  response.writeHead(status.code, { 'content-type': 'application/json' })
  response.end(JSON.stringify(status.toStatus()))
}
