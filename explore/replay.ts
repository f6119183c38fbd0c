/** Replay: the reference and one plan again, beside each other. */
import type { Clock } from '../components/component-base/clock.ts'
import type { ControllerUnderTest } from './controller-under-test.ts'
import { runReference } from './explore.ts'
import { describeFinding } from './finding.ts'
import type { Finding } from './finding.ts'
import { runPlan } from './judge-plan.ts'
import type { PlanResult } from './judge-plan.ts'
import type { Plan } from './make-plans.ts'
import { openPlaces } from './place.ts'
import { titleOf } from './report.ts'
import type { Story } from './story.ts'
import { timelinesOf, timelineText } from './timeline.ts'
import { valueStories } from './values/value-plans.ts'

export interface Replayed {
  readonly unfit: readonly Finding[]
  /** One, unless the reference failed. */
  readonly results: readonly PlanResult[]
  /** The timeline, and what was found. */
  readonly lines: readonly string[]
}

export async function replay(options: {
  readonly plan: Plan
  readonly story: Story
  /** The definition whose values the plan changes. */
  readonly values: string | undefined
  readonly controller: ControllerUnderTest
  readonly clock: Clock
  readonly signal: AbortSignal
}): Promise<Replayed> {
  const { plan, story, controller, clock, signal } = options
  const [place] = await openPlaces(story, { count: 1, clock, signal })
  try {
    const values =
      options.values === undefined
        ? undefined
        : await valueStories(place.client, story, options.values)
    const told = { story: values?.seed ?? story, controller, signal }
    const { reference, findings } = await runReference(place, told)
    if (reference === undefined) return { unfit: findings, results: [], lines: [] }
    const result = await runPlan(place, { story, controller, reference, values, signal }, plan)
    const timelines = timelinesOf(reference.traffic, result.run.traffic)
    const lines = timelineText(timelines)
    const found = result.findings.map(describeFinding)
    const end =
      result.outcome === 'not-met'
        ? ['the plan did not come about: the controller never came to its point']
        : found.length === 0
          ? ['nothing was found']
          : found
    return { unfit: [], results: [result], lines: [titleOf(result), '', ...lines, '', ...end] }
  } finally {
    await place.close()
  }
}
