/**
 * fault-filters: where requests meet the faults of the lab. `sendAnswers` is nearly the outermost filter, so that what it does happens to
 * the answer as it is sent. `meetFaults` comes when the user is known. Without faults each costs one comparison.
 */
import type { Clock } from '../../component-base/clock.ts'
import type { UnderWay } from '../../component-base/under-way.ts'
import type { Answer, Filter, Next, RequestContext } from '../request/request.ts'
import type { Faults } from './faults.ts'
import { MetRequest } from './met-request.ts'

async function send(context: RequestContext, next: Next, met: MetRequest): Promise<Answer> {
  context.faults = met
  return met.sent(await next(context), context)
}

/** While a fault delays a request, whoever advances the clock does not wait for that request. */
function stallingClock(
  clock: Pick<Clock, 'sleep'>,
  underWay: UnderWay | undefined,
): Pick<Clock, 'sleep'> {
  if (underWay === undefined) return clock
  return {
    sleep: async (ms, signal) => {
      const goOn = underWay.stall()
      try {
        await clock.sleep(ms, signal)
      } finally {
        goOn()
      }
    },
  }
}

/** Cuts and slows answers. */
export function sendAnswers(faults: Faults, given: Clock, underWay: UnderWay | undefined): Filter {
  const clock = stallingClock(given, underWay)
  return (context, next) =>
    faults.requests === undefined
      ? next(context)
      : send(context, next, new MetRequest(faults.requests, clock))
}

/** Delays and rejects requests. */
export const meetFaults: Filter = (context, next) =>
  context.faults === undefined ? next(context) : context.faults.meet(context, next)
