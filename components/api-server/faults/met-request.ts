/** MetRequest: the faults that one request meets on its way in and on its way out. */
import type { Clock } from '../../component-base/clock.ts'
import { ConnectionCutError } from '../../component-base/http.ts'
import type { RequestAction } from '../../component-base/request-fault.ts'
import { internalError, type StatusError } from '../../machinery/objects/status-error.ts'
import { answerError } from '../codec/respond.ts'
import type { Answer, MetFaults, Next, RequestContext } from '../request/request.ts'
import { cutShort, slowed } from './faulted-answer.ts'
import { faultStatus } from './fault-status.ts'
import type { RequestRule } from './faults.ts'
import { seenRequest, type SeenRequest } from './request-matcher.ts'

const noCut = new Set(['before', undefined])

function refused(context: RequestContext, error: StatusError): Answer {
  context.failure = error.message
  return answerError(error)
}

/** Rules are asked in this order, each kind once: delays, the end of the request, its state, its answer. */
export class MetRequest implements MetFaults {
  readonly #rules: readonly RequestRule[]
  readonly #clock: Pick<Clock, 'sleep'>
  /** The rules for this request, once its user is known. */
  #matching: readonly RequestRule[] = []
  readonly fired: string[] = []
  #cut: RequestAction['cut']
  #bytesPerSecond: number | undefined

  constructor(rules: readonly RequestRule[], clock: Pick<Clock, 'sleep'>) {
    this.#rules = rules
    this.#clock = clock
  }

  #fires({ fault }: RequestRule): boolean {
    if (!fault.fires()) return false
    if (!this.fired.includes(fault.id)) this.fired.push(fault.id)
    return true
  }

  /** The first rule of that kind that fires. */
  #first(isKind: (action: RequestAction) => boolean): RequestRule | undefined {
    return this.#matching.find((rule) => isKind(rule.action) && this.#fires(rule))
  }

  async meet(context: RequestContext, next: Next): Promise<Answer> {
    const request = seenRequest(context)
    this.#matching = this.#rules.filter((rule) => rule.matches(request))
    if (this.#matching.length === 0) return await next(context)
    await this.#delay(context)
    const end = this.#first(({ status, cut }) => status !== undefined || cut === 'before')
    if (end !== undefined) return this.#ended(context, request, end)
    this.#cut = this.#first(({ cut }) => !noCut.has(cut))?.action.cut
    const slow = this.#first(({ bytesPerSecond }) => bytesPerSecond !== undefined)
    this.#bytesPerSecond = slow?.action.bytesPerSecond
    return await next(context)
  }

  async #delay({ http }: RequestContext): Promise<void> {
    for (const rule of this.#matching) {
      const { delayMs } = rule.action
      if (delayMs === undefined || !this.#fires(rule)) continue
      await this.#clock.sleep(delayMs, http.signal)
    }
  }

  #ended(
    context: RequestContext,
    request: SeenRequest,
    { fault: { id }, action: { status } }: RequestRule,
  ): Answer {
    if (status !== undefined) return refused(context, faultStatus(status, request, id))
    this.#cut = 'before'
    // No client sees it; records have it as an answer that was never sent.
    return refused(context, internalError(`the fault ${JSON.stringify(id)} cut the connection`))
  }

  staleMs(): number | undefined {
    return this.#first(({ staleMs }) => staleMs !== undefined)?.action.staleMs
  }

  /** What of the answer is sent, and how. Throws a ConnectionCutError for none. */
  sent(answer: Answer, { http }: RequestContext): Answer {
    const isShort = this.#cut === 'during' && http.method !== 'HEAD'
    if (this.#cut !== undefined && !isShort) throw new ConnectionCutError()
    const rate = this.#bytesPerSecond
    const paced = rate === undefined ? answer : slowed(answer, rate, this.#clock)
    return isShort ? cutShort(paced) : paced
  }
}
