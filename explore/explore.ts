/** explore: a reference run, and plans made from it, each of which is judged. */
import type { Clock } from '../components/component-base/clock.ts'
import type { ControllerUnderTest } from './controller-under-test.ts'
import type { Finding } from './finding.ts'
import { isFound, judgePlan } from './judge-plan.ts'
import type { Judge, PlanResult } from './judge-plan.ts'
import { makePlans } from './make-plans.ts'
import type { Plan } from './make-plans.ts'
import { mixPlans } from './mix-plans.ts'
import type { Mixes } from './mix-plans.ts'
import { openPlaces } from './place.ts'
import type { Place } from './place.ts'
import type { PlanKind } from './planned-fault.ts'
import { referenceOf } from './reference.ts'
import type { Reference } from './reference.ts'
import { patience, runStory } from './run-story.ts'
import type { Story } from './story.ts'
import { valueStories } from './values/value-plans.ts'

export interface ExploreOptions {
  readonly story: Story
  readonly controller: ControllerUnderTest
  readonly kinds: readonly PlanKind[]
  /** Explore values of this CustomResourceDefinition instead: `caches.example.com`. */
  readonly values?: string | undefined
  /** After the plans of one fault each. */
  readonly mixes: Mixes
  /** Clusters at once. */
  readonly jobs: number
  /** No plan begins later. */
  readonly timeMs: number
  /** No more plans than this. */
  readonly mostPlans: number
  /** No plan begins after the first finding. */
  readonly stopsAtFirst: boolean
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

export type Progress =
  | {
      readonly kind: 'reference'
      readonly plans: number
      readonly writes: number
      readonly seconds: number
    }
  | ({ readonly kind: 'mixes' } & Mixes)
  | {
      readonly kind: 'plan'
      readonly done: number
      readonly of: number
      readonly result: PlanResult
    }

export interface ExploreReport {
  /** What is wrong without any fault; then there are no plans. */
  readonly unfit: readonly Finding[]
  readonly reference: Reference | undefined
  readonly referenceSeconds: number
  readonly results: readonly PlanResult[]
  /** Plans that time or number left out. */
  readonly leftOut: number
}

/** Two runs without faults; two more, with more patience, where these end differently. */
export async function runReference(
  place: Place,
  options: Pick<Judge, 'story' | 'controller' | 'signal'>,
): Promise<{ reference?: Reference; findings: readonly Finding[]; seconds: number }> {
  const first = await twoRuns(place, options)
  if (!first.isUncertain) return first
  const { story } = options
  const patient = { ...story, quietMs: story.quietMs * patience }
  return await twoRuns(place, { ...options, story: patient })
}

async function twoRuns(
  place: Place,
  options: Pick<Judge, 'story' | 'controller' | 'signal'>,
): Promise<{
  reference?: Reference
  findings: readonly Finding[]
  seconds: number
  /** They have ended differently. */
  isUncertain?: boolean
}> {
  const first = await runStory({ place, ...options, faults: [] })
  if (first.findings.length > 0) return { findings: first.findings, seconds: first.seconds }
  const { resources } = first
  const second = await runStory({ place, ...options, faults: [], resources })
  const { seconds } = second
  if (second.findings.length > 0) return { findings: second.findings, seconds }
  const made = referenceOf(first, second, options.story.ignore)
  if ('findings' in made) return { findings: made.findings, seconds, isUncertain: true }
  return { reference: made.reference, findings: [], seconds }
}

type Limits = Pick<ExploreOptions, 'timeMs' | 'stopsAtFirst' | 'mostPlans' | 'clock'>

/** The plans of an exploration under way. */
interface Run extends Limits {
  readonly places: readonly Place[]
  readonly judge: Judge
  readonly startedMs: number
  readonly onProgress: ExploreOptions['onProgress']
  /** How many were begun, or left out because they contain what was found. */
  begun: number
  /** In the order in which they ended. */
  readonly results: PlanResult[]
}

function isOver({ clock, startedMs, timeMs, stopsAtFirst, results }: Run): boolean {
  return clock.now() - startedMs >= timeMs || (stopsAtFirst && results.some(isFound))
}

/** Whether all faults of a plan that found something are in this one, too. */
function holdsFound({ results }: Run, plan: Plan): boolean {
  const faults = new Set(plan.faults.map((fault) => JSON.stringify(fault)))
  return results.some(
    (one) =>
      isFound(one) &&
      one.plan.faults.length > 0 &&
      one.plan.faults.every((fault) => faults.has(JSON.stringify(fault))),
  )
}

async function runAll(run: Run, plans: readonly Plan[]): Promise<void> {
  const { places, judge, results, onProgress } = run
  const of = results.length + plans.length
  const left = plans.values()
  const work = async (place: Place): Promise<void> => {
    while (!isOver(run)) {
      const { value: plan, done } = left.next()
      if (done === true) return
      run.begun += 1
      if (holdsFound(run, plan)) continue
      const result = await judgePlan(place, judge, plan)
      // Another may have come to the same meanwhile.
      if (holdsFound(run, result.plan)) continue
      results.push(result)
      onProgress?.({ kind: 'plan', done: results.length, of, result })
    }
  }
  const ended = await Promise.allSettled(places.map(work))
  for (const one of ended) if (one.status === 'rejected') throw one.reason
}

/** Mixes of the faults that found nothing alone, since they can find what no single one does. */
function mixesFor(run: Run, plans: readonly Plan[], { count, seed }: Mixes): Plan[] {
  const most = Math.min(count, run.mostPlans - run.begun)
  if (most <= 0 || isOver(run)) return []
  const passed = run.results.filter(({ outcome }) => outcome === 'passed')
  const passedPlans = new Set(passed.map(({ plan }) => plan))
  const faults = plans.filter((plan) => passedPlans.has(plan)).flatMap((plan) => plan.faults)
  const mixes = mixPlans(faults, { count: most, seed })
  run.onProgress?.({ kind: 'mixes', count: mixes.length, seed })
  return mixes
}

/** Rejects when the cluster or the manifests fail, and with the signal's reason. */
export async function explore(options: ExploreOptions): Promise<ExploreReport> {
  const { story, controller, kinds, jobs, clock, signal, mostPlans, onProgress } = options
  const startedMs = clock.now()
  const places = await openPlaces(story, { count: jobs, clock, signal })
  const [first] = places
  try {
    const values =
      options.values === undefined
        ? undefined
        : await valueStories(first.client, story, options.values)
    const told = await runReference(first, { story: values?.seed ?? story, controller, signal })
    const { reference, findings: unfit, seconds } = told
    if (reference === undefined)
      return { unfit, reference, referenceSeconds: seconds, results: [], leftOut: 0 }
    const all =
      values?.changes.map((change): Plan => ({ kind: 'values', faults: [], change })) ??
      makePlans(reference.traffic, { kinds, steps: story.steps.length })
    const plans = all.slice(0, mostPlans)
    const writes = reference.traffic.writes.length
    onProgress?.({ kind: 'reference', plans: plans.length, writes, seconds })
    const judge: Judge = { story, controller, reference, values, signal }
    const results: PlanResult[] = []
    const run: Run = { ...options, places, judge, startedMs, onProgress, begun: 0, results }
    await runAll(run, plans)
    const mixes = mixesFor(run, plans, options.mixes)
    await runAll(run, mixes)
    const leftOut = all.length + mixes.length - run.begun
    return { unfit: [], reference, referenceSeconds: seconds, results, leftOut }
  } finally {
    await Promise.all(places.map((place) => place.close()))
  }
}
