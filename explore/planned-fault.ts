/** PlannedFault: what a plan does to the controller under test, and when. */
import { describeTarget } from './gate/target.ts'
import type { Point } from './gate/target.ts'

/** Steps count from 1; 0 is the time before the first. */
export type PlannedFault =
  /** The controller is killed when it sends this write, which is not done; or when the write is done, without its answer. It starts again. */
  | { readonly kind: 'kill-before' | 'kill-after'; readonly at: Point }
  /** The write is done, and the connection ends instead of the answer. */
  | { readonly kind: 'lose-answer'; readonly at: Point }
  /** The request gets a Status of this code without being handled. */
  | { readonly kind: 'refuse'; readonly at: Point; readonly code: number }
  /** Watches of the resource show their events this much later. */
  | { readonly kind: 'late-events'; readonly resource: string; readonly ms: number }
  /** Watches of the resource show each event twice. */
  | { readonly kind: 'repeat-events'; readonly resource: string }
  /** The first event of the step is not shown: the watch ends with 410, and the controller lists again. */
  | { readonly kind: 'relist'; readonly resource: string; readonly step: number }
  /** Watches show nothing from the step `from` until the step `to` has come to rest; then they end with 410. */
  | {
      readonly kind: 'unseen'
      readonly resource: string
      readonly from: number
      readonly to: number
    }
  /**
   * When the step `step` has come to rest, the controller is killed. It starts against lists as they were after the step `view`, where
   * it accepts old ones (resourceVersion 0), and watches that stand still for `ms`.
   */
  | {
      readonly kind: 'stale-restart'
      readonly step: number
      readonly view: number
      readonly ms: number
    }
  /** Every request takes this much longer. */
  | { readonly kind: 'slow'; readonly ms: number }

export const planKinds = {
  kill: 'killed right before and right after each write, and started again',
  'lost-answer': 'each write is done, and its answer lost',
  refuse: 'each request refused once: 409 for updates, 429, 500 or 503 for others',
  late: 'watch events late by a second',
  repeat: 'watch events shown twice',
  relist: 'watches expired (410), so that the controller lists again',
  unseen: 'states between two steps that watches never show',
  stale: 'started again with an old list, and then an old watch',
  slow: 'every request slow',
} as const

export type PlanKind = keyof typeof planKinds

const nthText = ({ nth }: Point): string => (nth === 1 ? '' : `, the ${nth}${ordinal(nth)} time`)

function ordinal(number: number): string {
  const isTeen = number % 100 > 10 && number % 100 < 14
  return (isTeen ? undefined : ['th', 'st', 'nd', 'rd'][number % 10]) ?? 'th'
}

const pointText = (at: Point): string => `${describeTarget(at)}${nthText(at)}`

const afterStep = (step: number): string =>
  step === 0 ? 'before the first step' : `after step ${step}`

/** One line, for a report. */
export function describeFault(fault: PlannedFault): string {
  switch (fault.kind) {
    case 'kill-before':
      return `killed before: ${pointText(fault.at)}`
    case 'kill-after':
      return `killed after: ${pointText(fault.at)}`
    case 'lose-answer':
      return `answer lost: ${pointText(fault.at)}`
    case 'refuse':
      return `refused with ${fault.code}: ${pointText(fault.at)}`
    case 'late-events':
      return `events of ${fault.resource} late by ${fault.ms} ms`
    case 'repeat-events':
      return `events of ${fault.resource} shown twice`
    case 'relist':
      return `watches of ${fault.resource} expired in step ${fault.step}`
    case 'unseen':
      return fault.from === fault.to
        ? `states of ${fault.resource} unseen in step ${fault.from}`
        : `states of ${fault.resource} unseen in steps ${fault.from} to ${fault.to}`
    case 'stale-restart':
      return `started again ${afterStep(fault.step)} with the view of ${fault.view === 0 ? 'the start' : `step ${fault.view}`}`
    case 'slow':
      return `every request slow by ${fault.ms} ms`
  }
}
