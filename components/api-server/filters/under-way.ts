/**
 * under-way: counts a request from its arrival until its answer; the body of an answer too, unless the request lasts as long as
 * its client wants.
 */
import type { UnderWay } from '../../component-base/under-way.ts'
import { isLongRunning } from '../request/long-running.ts'
import type { Filter } from '../request/request.ts'

export function countUnderWay(underWay: UnderWay): Filter {
  return async (context, next) => {
    const end = underWay.begin()
    try {
      const answer = await next(context)
      const { body } = answer
      if (Buffer.isBuffer(body) || isLongRunning(context)) return answer
      return {
        ...answer,
        body: (sink) => {
          const endBody = underWay.begin()
          return body(sink).finally(endBody)
        },
      }
    } finally {
      end()
    }
  }
}
