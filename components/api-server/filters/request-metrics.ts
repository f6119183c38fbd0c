/** request-metrics: the filter that counts and times requests, and measures their answers. */
import type { Clock } from '../../component-base/clock.ts'
import type { Gauge, Histogram, Metrics } from '../../component-base/metrics.ts'
import { isLongRunning } from '../request/long-running.ts'
import type { Answer, Filter, RequestContext, ResponseSink } from '../request/request.ts'
import { createRequestSeries, type Series } from './request-series.ts'

/** A sink that counts the bytes it passes on. */
function counting(sink: ResponseSink, count: (bytes: number) => void): ResponseSink {
  return {
    write: (chunk, onSent) => {
      count(chunk.length)
      return sink.write(chunk, onSent)
    },
    drained: () => sink.drained(),
    get buffered() {
      return sink.buffered
    },
    signal: sink.signal,
  }
}

/** Counts a long-running request until its body has ended or its client is gone. */
function whileRunning(context: RequestContext, answer: Answer, gauge: Gauge | undefined): Answer {
  const { body } = answer
  const { signal } = context.http
  if (gauge === undefined || Buffer.isBuffer(body) || signal.aborted) return answer
  gauge.inc()
  let isOver = false
  const end = (): void => {
    if (isOver) return
    isOver = true
    signal.removeEventListener('abort', end)
    gauge.dec()
  }
  signal.addEventListener('abort', end, { once: true })
  return { ...answer, body: (sink) => body(sink).finally(end) }
}

/** Observes the size of the body once all of it has been written. */
function sized(answer: Answer, histogram: Histogram): Answer {
  const { body } = answer
  if (Buffer.isBuffer(body)) {
    histogram.observe(body.length)
    return answer
  }
  return {
    ...answer,
    body: async (sink) => {
      let bytes = 0
      await body(counting(sink, (more) => void (bytes += more)))
      histogram.observe(bytes)
    },
  }
}

/** Counts each request once it is answered, by its outcome, and those in flight. */
export function createRequestMetrics(metrics: Metrics, clock: Clock): Filter {
  const series = createRequestSeries(metrics)
  return async (context, next) => {
    if (isLongRunning(context)) {
      const answer = await next(context)
      const outcome = series.of(context, answer.status)
      count(outcome)
      return whileRunning(context, answer, outcome.running)
    }
    const { verb } = context.info
    const gauge = verb === 'get' || verb === 'list' ? series.reading : series.mutating
    gauge.inc()
    try {
      const answer = await next(context)
      const outcome = series.of(context, answer.status)
      count(outcome)
      const seconds = (clock.now() - context.receivedAtMs) / 1000
      outcome.seconds?.observe(seconds)
      outcome.sliSeconds?.observe(seconds)
      return outcome.bytes === undefined ? answer : sized(answer, outcome.bytes)
    } finally {
      gauge.dec()
    }
  }
}

function count({ total, deprecated, terminations }: Series): void {
  total.inc()
  deprecated?.set(1)
  terminations?.inc()
}
