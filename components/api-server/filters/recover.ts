/** recover: every error leaves as a Status; what is not a known error is logged as a bug with its request id. */
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
      if (context.audit !== undefined && isUnforeseen(error)) context.audit.panic = error
      if (status.code >= 500) {
        const { id, http } = context
        const path = http.url.split('?', 1)[0]
        const fields = { id, method: http.method, path, error }
        // 503 and 504 mean that something else is missing or late. 500 is a bug here, unless a webhook or a node caused it, or the
        // store, which logs its own faults. Without a reason it is a client's fault that upstream makes no Status of.
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
