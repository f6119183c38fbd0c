/** priority-and-fairness: requests wait for a seat of their priority level, or are refused with 429 (upstream: priority-and-fairness.go). */
import type { FlowControl } from '../flow-control/flow-control.ts'
import type { Filter } from '../request/request.ts'
import { tooManyRequests } from '../../machinery/objects/status-error.ts'
import { isLongRunning } from '../request/long-running.ts'

/** What runs long takes no seat; a watch has one until it has begun. */
export function priorityAndFairness(control: FlowControl): Filter {
  return async (context, next) => {
    if (isLongRunning(context) && context.info.verb !== 'watch') return await next(context)
    const flow = control.flowOf(context)
    context.answerHeaders = flow.headers
    const entered = control.enter(flow, context)
    const leave = entered instanceof Promise ? await entered : entered
    if (typeof leave === 'string') throw tooManyRequests()
    try {
      return await next(context)
    } finally {
      leave()
    }
  }
}
