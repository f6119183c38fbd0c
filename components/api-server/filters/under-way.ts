/**
 * under-way: counts a request from its arrival until its answer; the body of an answer too. Of a request that lasts as long as its client
 * wants, such as a watch, it notes each chunk.
 */
import type { ResponseSink } from '../../component-base/http.ts'
import type { UnderWay } from '../../component-base/under-way.ts'
import { isLongRunning } from '../request/long-running.ts'
import type { Filter } from '../request/request.ts'

export function countUnderWay(underWay: UnderWay): Filter {
  return async (context, next) => {
    const end = underWay.begin()
    try {
      const answer = await next(context)
      const { body } = answer
      if (Buffer.isBuffer(body)) return answer
      if (isLongRunning(context)) return { ...answer, body: (sink) => body(noting(sink, underWay)) }
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

function noting(sink: ResponseSink, underWay: UnderWay): ResponseSink {
  return {
    write: (chunk, onSent) => {
      underWay.note()
      return sink.write(chunk, onSent)
    },
    drained: () => sink.drained(),
    get buffered() {
      return sink.buffered
    },
    get signal() {
      return sink.signal
    },
  }
}
