/** mix-plans: plans of two or three faults each, drawn from those that found nothing alone. */
import { seededRandom } from '../components/component-base/seeded-random.ts'
import { describeTarget } from './gate/target.ts'
import type { Plan } from './make-plans.ts'
import type { PlannedFault } from './planned-fault.ts'

export interface Mixes {
  readonly count: number
  /** From 0, below 2^32. */
  readonly seed: number
}

/** Draws for each mix that is asked for, since few faults have few mixes. */
const mostDraws = 20

/** What a fault happens to: two for the same request or the same watch exclude each other. */
function subjectOf(fault: PlannedFault): string {
  if ('at' in fault) return `${describeTarget(fault.at)} ${fault.at.nth}`
  if (fault.kind === 'stale-restart') return `${fault.kind} ${fault.step}`
  return 'resource' in fault ? `watch ${fault.resource}` : fault.kind
}

/** Some of the faults, in their order; undefined where two exclude each other. */
function draw(
  faults: readonly PlannedFault[],
  random: () => number,
): readonly PlannedFault[] | undefined {
  const size = random() < 0.5 ? 2 : 3
  const drawn = new Set<number>()
  for (let at = 0; at < size; at += 1) drawn.add(Math.floor(random() * faults.length))
  const mix = faults.filter((_, index) => drawn.has(index))
  const subjects = new Set(mix.map(subjectOf))
  return mix.length > 1 && subjects.size === mix.length ? mix : undefined
}

/** The same for the same faults and seed; fewer than asked for where there are no more. No two are alike. */
export function mixPlans(faults: readonly PlannedFault[], { count, seed }: Mixes): Plan[] {
  const random = seededRandom(seed)
  const mixes = new Map<string, Plan>()
  for (let draws = count * mostDraws; draws > 0 && mixes.size < count; draws -= 1) {
    const mix = draw(faults, random)
    if (mix !== undefined) mixes.set(JSON.stringify(mix), { kind: 'mix', faults: mix })
  }
  return [...mixes.values()]
}
