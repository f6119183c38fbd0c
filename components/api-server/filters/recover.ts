/** recover: turns every error into a Status. A bug is logged as an error with its request id. */
import { WebhookFault } from '../request/webhook-fault.ts'
import type { Log } from '../../component-base/log.ts'
import { isRefusal } from '../../store/store.ts'
import { NodeFault } from '../request/node-fault.ts'
import { answerError, asStatusError, isUnforeseen } from '../codec/respond.ts'
import type { Filter } from '../request/request.ts'

export function recover(log: Log): Filter {
  return async (context, next) => {
    try {
      return await next(context)
    } catch (error) {
      const status = asStatusError(error)
      context.failure = status.message
      if (context.audit !== undefined && isUnforeseen(error)) context.audit.panic = error
      if (status.code >= 500) {
        const { id, http } = context
        const path = http.url.split('?', 1)[0]
        const fields = { id, method: http.method, path, error }
        // A 503 or 504 means that something else is missing or late. A 500 is a bug here, except for a fault of a webhook, a
        // node or the store, which logs its own. An error without a reason is a fault of the client that upstream answers
        // without a Status.
        const isOthers =
          error instanceof WebhookFault ||
          error instanceof NodeFault ||
          isRefusal(error) ||
          status.reason === ''
        const isOwn = status.code === 500 && !isOthers
        if (isOwn) log.error('request failed', fields)
        else log.info('request not served', fields)
      }
      return answerError(status)
    }
  }
}
