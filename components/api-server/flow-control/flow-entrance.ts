/** flow-entrance: how a request gets its seats: at once, after a wait, or not (upstream: flowcontrol/apf_filter.go). */
import { backgroundOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { RequestContext } from '../request/request.ts'
import type { FairRequest, Refusal } from './fair-request.ts'
import type { Flow } from './flow.ts'
import type { KindGauges } from './level-metrics.ts'
import type { TimingRatio } from './timing-ratio.ts'
import { widthOf } from './work-estimate.ts'

/** The seats of a request. */
export interface Seats {
  /** Call it when the request was answered, or its watch has started. Further calls do nothing. */
  leave(): void
}

export type Enter = (
  flow: Flow,
  context: RequestContext,
) => Seats | Promise<Seats | Refusal> | Refusal

const readVerbs = new Set(['get', 'list', 'watch', 'head', 'options'])

/** What serves one request after the other: its parts are the same for all requests. */
export interface EntranceParts {
  readonly clock: Clock
  readonly longestWaitMs: number
  readonly gauges: Readonly<Record<'reading' | 'mutating', KindGauges>>
  readonly waiting: Record<'reading' | 'mutating', number>
  /** A quiescing level may have become idle. */
  readonly onIdle: () => void
}

class TakenSeats implements Seats {
  readonly #parts: EntranceParts
  readonly #flow: Flow
  readonly #request: FairRequest
  readonly #executing: TimingRatio
  #hasLeft = false

  constructor(parts: EntranceParts, flow: Flow, request: FairRequest) {
    this.#parts = parts
    this.#flow = flow
    this.#request = request
    const { series } = flow
    if (!flow.level.isExempt) {
      series.waited((request.startedMs - request.arrivedMs) / 1000, true)
    }
    this.#executing = parts.gauges[kindOf(request)].executing
    this.#executing.add(1, request.startedMs)
  }

  leave(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    const { level, series } = this.#flow
    const request = this.#request
    const nowMs = level.queueSet.finish(request)
    this.#executing.add(-1, nowMs)
    const isWatch = request.arriving.from.info.verb === 'watch'
    series.executed((nowMs - request.startedMs) / 1000, isWatch)
    if (level.isQuiescing && level.queueSet.isIdle) this.#parts.onIdle()
  }
}

function kindOf({ arriving }: FairRequest): 'reading' | 'mutating' {
  return readVerbs.has(arriving.from.info.verb) ? 'reading' : 'mutating'
}

/** Waits until the request is dispatched, the wait takes too long or the client goes away. */
async function awaitDispatch(
  request: FairRequest,
  { level }: Flow,
  at: { context: RequestContext; parts: EntranceParts },
): Promise<Refusal | undefined> {
  const { context, parts } = at
  const { clock, longestWaitMs, gauges, waiting } = parts
  const { signal } = context.http
  const { promise, resolve } = Promise.withResolvers<Refusal | undefined>()
  request.onDecided = resolve
  const cancelled = (): void => level.queueSet.cancel(request, 'cancelled')
  const leftMs = context.receivedAtMs + longestWaitMs - clock.now()
  const stop = backgroundOf(clock).after(Math.max(leftMs, 0), () =>
    level.queueSet.cancel(request, 'time-out'),
  )
  signal.addEventListener('abort', cancelled, { once: true })
  if (signal.aborted) cancelled()
  const kind = kindOf(request)
  gauges[kind].waiting.add(1, request.arrivedMs)
  waiting[kind] += 1
  const refusal = await promise
  waiting[kind] -= 1
  gauges[kind].waiting.add(-1, clock.elapsed())
  stop()
  signal.removeEventListener('abort', cancelled)
  return refusal
}

/** How requests get their seats. */
export function entranceOf(parts: EntranceParts): Enter {
  async function queued(
    request: FairRequest,
    flow: Flow,
    context: RequestContext,
  ): Promise<Seats | Refusal> {
    const refusal = await awaitDispatch(request, flow, { context, parts })
    if (refusal === undefined) return new TakenSeats(parts, flow, request)
    const waitedMs = parts.clock.elapsed() - request.arrivedMs
    flow.series.waited(waitedMs / 1000, false)
    if (flow.level.isQuiescing && flow.level.queueSet.isIdle) parts.onIdle()
    return refusal
  }

  return (flow, context) => {
    const { level, series, counts, name: schema } = flow
    const work = flow.estimate(context.info)
    series.estimated(widthOf(work))
    const distinguisher = flow.distinguisherOf(context)
    const hand = flow.handOf(distinguisher)
    const arriving = { work, hand, schema, distinguisher, counts, from: context }
    const request = level.queueSet.start(arriving)
    if (typeof request === 'string') {
      if (!level.isExempt) series.waited(0, false)
      return request
    }
    if (request.queue !== undefined) series.enqueued(request.queueLength)
    return request.isExecuting
      ? new TakenSeats(parts, flow, request)
      : queued(request, flow, context)
  }
}
