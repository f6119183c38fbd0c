/** Conditions: the conditions of an object, as they are and as they were. */
import { age } from '../../../app/time.ts'
import {
  conditionSpans,
  conditionsOf,
  type Condition,
  type ConditionSpan,
  type WithStatus,
} from './condition-spans.ts'

/** Conditions that are as they should be when they are False. */
const isTroubleWhenTrue =
  /(Pressure|Unavailable|Failure|Failed|Failing|Degraded|Stalled|Suspended)$/

export function conditionTone({ type, status }: Pick<Condition, 'type' | 'status'>): string {
  if (status !== 'True' && status !== 'False') return 'warn'
  return (status === 'True') === isTroubleWhenTrue.test(type) ? 'bad' : 'good'
}

export function Conditions({
  object,
  nowMs,
}: {
  readonly object: WithStatus
  readonly nowMs: number
}) {
  const conditions = conditionsOf(object)
  if (conditions.length === 0) return null
  return (
    <section>
      <h2>Conditions</h2>
      <div class="scroll" role="region" aria-label="Conditions" tabIndex={0}>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Type</th>
              <th scope="col">Status</th>
              <th scope="col">Since</th>
              <th scope="col">Reason</th>
              <th scope="col">Message</th>
            </tr>
          </thead>
          <tbody>
            {conditions.map((one) => {
              const { type, status, reason = '', message = '', lastTransitionTime } = one
              const since = Date.parse(lastTransitionTime ?? '')
              return (
                <tr key={type}>
                  <td>{type}</td>
                  <td class={`tone-${conditionTone(one)}`}>{status}</td>
                  <td title={lastTransitionTime}>{Number.isNaN(since) ? '' : age(since, nowMs)}</td>
                  <td>{reason}</td>
                  <td class="wrap">{message}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </section>
  )
}

interface BarProps {
  readonly spans: readonly ConditionSpan[]
  readonly fromMs: number
  readonly nowMs: number
}

function Bar({ spans, fromMs, nowMs }: BarProps) {
  const timed = spans.filter(({ fromMs: at }) => !Number.isNaN(at))
  const whole = Math.max(1, nowMs - fromMs)
  return (
    <div class="bar">
      {timed.map((span, index) => {
        const endMs = timed[index + 1]?.fromMs ?? nowMs
        const left = ((span.fromMs - fromMs) / whole) * 100
        const width = Math.max(0.4, ((endMs - span.fromMs) / whole) * 100)
        const text = `${span.status}${span.reason ? `, ${span.reason}` : ''}`
        return (
          <span
            key={index}
            class={`span span-${conditionTone(span)}`}
            style={{ left: `${left}%`, width: `${width}%` }}
            title={`${text} since ${span.lastTransitionTime ?? ''}`}
          />
        )
      })}
    </div>
  )
}

export interface ConditionHistoryProps {
  /** The oldest first. */
  readonly versions: readonly WithStatus[]
  readonly nowMs: number
}

export function ConditionHistory({ versions, nowMs }: ConditionHistoryProps) {
  const spans = conditionSpans(versions)
  if (spans.size === 0) return <p class="empty">The object has no conditions.</p>
  const times = [...spans.values()].flat().map(({ fromMs }) => fromMs)
  const fromMs = Math.min(nowMs, ...times.filter((ms) => !Number.isNaN(ms)))
  return (
    <div class="condition-history">
      {[...spans].map(([type, ofType]) => (
        <div key={type} class="condition-row">
          <span>{type}</span>
          <Bar spans={ofType} fromMs={fromMs} nowMs={nowMs} />
          <ol aria-label={`Transitions of ${type}`}>
            {ofType.map(({ status, reason = '', lastTransitionTime = '' }, index) => (
              <li key={index}>
                <span class={`tone-${conditionTone({ type, status })}`}>{status}</span> {reason}{' '}
                <time>{lastTransitionTime}</time>
              </li>
            ))}
          </ol>
        </div>
      ))}
    </div>
  )
}
