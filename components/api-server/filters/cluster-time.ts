/** cluster-time: while the cluster's clock is not real time, answers say what time it is there, for clients whose own time is real. */
import { timeHeader } from '../../api/request-record.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Answer, Filter } from '../request/request.ts'

async function told(answer: Promise<Answer>, clock: Pick<Clock, 'now'>): Promise<Answer> {
  const { headers, ...rest } = await answer
  const time = new Date(clock.now()).toISOString()
  return { ...rest, headers: { ...headers, [timeHeader]: time } }
}

/** Of a watch, the time when it began. */
export function tellTime(clock: Pick<Clock, 'now' | 'isReal'>): Filter {
  return (context, next) => {
    const answer = next(context)
    return clock.isReal?.() === false ? told(answer, clock) : answer
  }
}
