/**
 * priority-and-fairness: a request waits for seats of its priority level, or gets 429 (upstream: priority-and-fairness.go).
 */
import type { FlowControl } from '../flow-control/flow-control.ts'
import type { Seats } from '../flow-control/flow-entrance.ts'
import type { Answer, Filter, Next, RequestContext } from '../request/request.ts'
import { tooManyRequests } from '../../machinery/objects/status-error.ts'
import { isLongRunning } from '../request/long-running.ts'

/** Long-running requests take no seats. A watch holds its seats until its initial events are sent. */
export function priorityAndFairness(control: FlowControl): Filter {
  return async (context, next) => {
    const isWatch = context.info.verb === 'watch'
    if (!isWatch && isLongRunning(context)) return await next(context)
    const flow = control.flowOf(context)
    context.answerHeaders = flow.headers
    const entered = control.enter(flow, context)
    const seats = entered instanceof Promise ? await entered : entered
    if (typeof seats === 'string') throw tooManyRequests(control.drop(flow))
    if (isWatch) return await watched(context, next, { control, seats })
    try {
      return await next(context)
    } finally {
      seats.leave()
    }
  }
}

/** Counts the watch until it ends, so that writes know how many watchers they notify. */
async function watched(
  context: RequestContext,
  next: Next,
  { control, seats }: { control: FlowControl; seats: Seats },
): Promise<Answer> {
  const { signal } = context.http
  const forget = control.watches.register(context.info)
  const end = (): void => {
    signal.removeEventListener('abort', end)
    seats.leave()
    forget()
  }
  try {
    const answer = await next(context)
    const { body } = answer
    // The body of an answer to a client that is gone is never sent.
    if (Buffer.isBuffer(body) || signal.aborted) {
      end()
      return answer
    }
    signal.addEventListener('abort', end, { once: true })
    if (context.started === undefined) seats.leave()
    else void context.started.then(() => seats.leave())
    return { ...answer, body: (sink) => body(sink).finally(end) }
  } catch (error) {
    end()
    throw error
  }
}
