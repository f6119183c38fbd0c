/** Judge: gives events to the rules of several monitors, and makes violations of what they find. */
import { changed, managersOf, writers } from '../components/api/changed-fields.ts'
import type { Dialect } from '../components/api/dialect.ts'
import type { RequestRecord } from '../components/api/request-record.ts'
import type { Clock } from '../components/component-base/clock.ts'
import type { Change } from './change.ts'
import type { Finding, Monitor, Rule, RuleContext, Violation, Writer } from './monitor.ts'

/** Further ones are counted. */
const mostKept = 1000

export interface JudgeOptions {
  readonly monitors: readonly Monitor[]
  readonly clock: Pick<Clock, 'now'>
  readonly dialect: Dialect
  readonly watched: RuleContext['watched']
  readonly authorOf: RuleContext['authorOf']
  readonly onViolation?: ((violation: Violation) => void) | undefined
}

export interface MonitorCounts {
  readonly name: string
  readonly summary: string
  readonly violations: number
}

export interface Judge {
  take(change: Change): void
  request(record: RequestRecord): void
  /** All changes up to now have been taken; with false, the server did not answer, and the time until now does not count. */
  rest(isSettled: boolean): void
  /** The server was given an earlier state: what is known of objects is forgotten. */
  reset(): void
  readonly violations: readonly Violation[]
  counts(): readonly MonitorCounts[]
}

/** Who made the change, where the journal does not know. */
function managersOfChange({ old, object, type }: Change): readonly string[] {
  if (type === 'DELETED') return []
  if (old === undefined) return managersOf(object.metadata.managedFields)
  return writers(changed(old, object))
}

function writersOf(
  { revisions }: Finding,
  change: Change | undefined,
  authorOf: JudgeOptions['authorOf'],
): Writer[] {
  return revisions.flatMap((revision): Writer[] => {
    const author = authorOf(Number(revision))
    if (author !== undefined) {
      const { user, userAgent, verb, subresource, isApply } = author
      return [{ revision, user, userAgent, verb: isApply === true ? 'apply' : verb, subresource }]
    }
    if (change === undefined || String(change.revision) !== revision) return []
    const managers = managersOfChange(change)
    return managers.length === 0 ? [] : [{ revision, managers }]
  })
}

export function createJudge(options: JudgeOptions): Judge {
  const { monitors, clock, onViolation, authorOf } = options
  const begin = (): Rule[] => monitors.map((monitor) => monitor.start(options))
  const counts = monitors.map(() => 0)
  const violations: Violation[] = []
  let rules = begin()
  /** Time in which the server did not answer: no one could have done anything. */
  let blindMs = 0
  let askedAtMs = clock.now()

  const note = (at: number, found: readonly Finding[] = [], change?: Change): void => {
    for (const finding of found) {
      counts[at] = (counts[at] ?? 0) + 1
      const violation: Violation = {
        monitor: monitors[at]?.name ?? '',
        ...finding,
        atMs: clock.now(),
        writers: writersOf(finding, change, authorOf),
      }
      if (violations.length < mostKept) violations.push(violation)
      onViolation?.(violation)
    }
  }
  return {
    violations,
    take: (change) => {
      const seen = { ...change, atMs: change.atMs - blindMs }
      for (const [at, rule] of rules.entries()) note(at, rule.take?.(seen), change)
    },
    request: (record) => {
      for (const [at, rule] of rules.entries()) note(at, rule.request?.(record))
    },
    rest: (isSettled) => {
      const nowMs = clock.now()
      if (!isSettled) blindMs += Math.max(0, nowMs - askedAtMs)
      askedAtMs = nowMs
      if (!isSettled) return
      for (const [at, rule] of rules.entries()) note(at, rule.rest?.(nowMs - blindMs))
    },
    reset: () => (rules = begin()),
    counts: () =>
      monitors.map(({ name, summary }, at) => ({ name, summary, violations: counts[at] ?? 0 })),
  }
}
