/** judge-plan: runs a plan and compares it to the reference; what is found runs once more, and is made smaller. */
import type { ControllerUnderTest } from './controller-under-test.ts'
import { kindOf } from './finding.ts'
import type { Finding } from './finding.ts'
import type { Plan } from './make-plans.ts'
import type { Place } from './place.ts'
import type { Reference } from './reference.ts'
import { runStory } from './run-story.ts'
import type { StoryRunResult } from './run-story.ts'
import type { Story } from './story.ts'
import type { ValueChange } from './values/schema-values.ts'
import type { ValueStories } from './values/value-plans.ts'

export interface PlanResult {
  readonly plan: Plan
  /** `not-met`: nothing came to the point of the plan. `once`: what was found did not happen again. */
  readonly outcome: 'passed' | 'found' | 'once' | 'not-met'
  readonly findings: readonly Finding[]
  readonly run: StoryRunResult
}

export interface Judge {
  readonly story: Story
  readonly controller: ControllerUnderTest
  readonly reference: Reference
  /** Of plans that change values. */
  readonly values?: ValueStories | undefined
  readonly signal: AbortSignal
}

/** One run of the plan. */
export async function runPlan(place: Place, judge: Judge, plan: Plan): Promise<PlanResult> {
  const { faults, change } = plan
  if (change !== undefined) return await runChange(place, judge, { ...plan, change })
  const run = await runStory({ place, ...judge, faults })
  const { findings } = run
  const isMet = run.unfired.length < faults.length || faults.length === 0
  const outcome = findings.length > 0 ? 'found' : isMet ? 'passed' : 'not-met'
  return { plan, outcome, findings, run }
}

/** What the change leads to, and the way back, compared to resources that were created so. */
async function runChange(
  place: Place,
  { controller, signal, values, reference }: Judge,
  plan: Plan & { readonly change: ValueChange },
): Promise<PlanResult> {
  const { change } = plan
  if (values === undefined) throw new Error('the plan changes values, and the story has none')
  const { resources } = reference
  const judge = { controller, signal }
  const fresh = await runStory({
    place,
    ...judge,
    story: values.fresh(change),
    faults: [],
    resources,
  })
  // The server rejects the value: no controller sees it.
  if (fresh.findings.some(({ kind }) => kind === 'step'))
    return { plan, outcome: 'not-met', findings: [], run: fresh }
  if (fresh.findings.length > 0)
    return { plan, outcome: 'found', findings: fresh.findings, run: fresh }
  const [seed, wanted] = [reference.states.at(-1), fresh.states.at(-1)]
  const states = [...reference.states, ...[wanted, seed].flatMap((one) => one ?? [])]
  const run = await runStory({
    place,
    ...judge,
    story: values.thereAndBack(change),
    faults: [],
    reference: { ...reference, states },
  })
  const outcome = run.findings.length > 0 ? 'found' : 'passed'
  return { plan, outcome, findings: run.findings, run }
}

const kindsIn = (findings: readonly Finding[]): ReadonlySet<string> => new Set(findings.map(kindOf))

function isSame(one: readonly Finding[], other: readonly Finding[]): boolean {
  return !kindsIn(one).isDisjointFrom(kindsIn(other))
}

/** The plan without the faults that the finding does not need. */
async function shrunk(place: Place, judge: Judge, found: PlanResult): Promise<PlanResult> {
  let smallest = found
  for (const fault of found.plan.faults) {
    const faults = smallest.plan.faults.filter((one) => one !== fault)
    if (faults.length === 0) return smallest
    const result = await runPlan(place, judge, { ...found.plan, faults })
    if (isSame(result.findings, found.findings)) smallest = result
  }
  return smallest
}

/** Runs the plan; a finding once more, since a loaded machine may be late once. */
export async function judgePlan(place: Place, judge: Judge, plan: Plan): Promise<PlanResult> {
  const first = await runPlan(place, judge, plan)
  if (first.outcome !== 'found') return first
  const again = await runPlan(place, judge, plan)
  if (!isSame(first.findings, again.findings)) return { ...first, outcome: 'once' }
  return await shrunk(place, judge, again)
}

/** Whether what was found did not happen by chance. */
export function isFound({ outcome }: Pick<PlanResult, 'outcome'>): boolean {
  return outcome === 'found'
}
