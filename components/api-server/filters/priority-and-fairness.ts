/**
 * priority-and-fairness: a request waits for a seat of its priority level, or gets 429 (upstream: priority-and-fairness.go).
 */
import type { FlowControl } from '../flow-control/flow-control.ts'
import type { Filter } from '../request/request.ts'
import { tooManyRequests } from '../../machinery/objects/status-error.ts'
import { isLongRunning } from '../request/long-running.ts'

/** Long-running requests take no seat. A watch holds one until its stream begins. */
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
