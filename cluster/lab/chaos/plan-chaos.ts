/** planChaos: which faults happen when, drawn from a mix by a seed. Pure: the same on every machine. */
import { formatDuration } from '../../../components/component-base/flags.ts'
import { seededRandom } from '../../../components/component-base/seeded-random.ts'
import { ClusterError } from '../../cluster-error.ts'
import { contradictionOf } from '../contradictions.ts'
import type { FaultSpec } from '../fault-spec.ts'
import { happensAtOnce } from '../happens-at-once.ts'
import { chaosDefaults } from './chaos-mix.ts'
import type { ChaosEntry, ChaosMix } from './chaos-mix.ts'
import { faultOnEachPart } from './chaos-parts.ts'
import type { ChaosParts } from './chaos-parts.ts'

export interface ChaosOptions {
  /** A whole number from 0 to 4294967295. */
  readonly seed: number
  /** How long it goes on; no fault lasts beyond that. */
  readonly forMs: number
  readonly mix: ChaosMix
  readonly parts: ChaosParts
}

export interface PlannedFault {
  /** After the chaos began. */
  readonly atMs: number
  /** 0: it happens at once. */
  readonly forMs: number
  /** With a name of its own, its end, and its seed where it has a chance. */
  readonly fault: FaultSpec
  /** Its index in the mix. */
  readonly entry: number
}

/** More would fill the memory. */
const mostFaults = 100_000
/** Of faults with a chance: whole numbers below this. */
const seeds = 2 ** 32

/** An entry with the faults that it can become in this cluster. */
interface Source {
  readonly entry: number
  readonly weight: number
  readonly forMs: readonly [number, number]
  readonly faults: readonly FaultSpec[]
}

function sourceOf(one: ChaosEntry, entry: number, parts: ChaosParts): Source {
  const { fault, weight = chaosDefaults.weight, forMs = chaosDefaults.forMs } = one
  return { entry, weight, forMs, faults: faultOnEachPart(fault, parts) }
}

/** The faults of the source that can begin beside those that are active. */
function fitting({ faults }: Source, active: readonly FaultSpec[]): FaultSpec[] {
  return faults.filter(
    (fault) =>
      !active.some((other) => other === fault || contradictionOf(other, fault) !== undefined),
  )
}

function drawn<T>(all: readonly T[], random: () => number): T | undefined {
  return all[Math.floor(random() * all.length)]
}

function drawnByWeight(sources: readonly Source[], random: () => number): Source | undefined {
  const sum = sources.reduce((total, { weight }) => total + weight, 0)
  let left = random() * sum
  return sources.find(({ weight }) => (left -= weight) < 0) ?? sources.at(-1)
}

/**
 * Sorted by `atMs`. No two faults that contradict each other, and no fault twice, at the same moment. Throws a ClusterError of kind `usage`
 * for a plan that would be too long.
 */
export function planChaos({ seed, forMs, mix, parts }: ChaosOptions): readonly PlannedFault[] {
  const { everyMs } = mix
  if (forMs / everyMs > mostFaults) throw tooLong(forMs, everyMs)
  const random = seededRandom(seed)
  const sources = mix.faults
    .map((one, index) => sourceOf(one, index, parts))
    .filter(({ weight }) => weight > 0)
  const plan: PlannedFault[] = []
  let active: { readonly fault: FaultSpec; readonly endMs: number }[] = []
  // Every moment draws equally often, whatever becomes of it.
  const next = (): number => Math.max(1, Math.round(random() * 2 * everyMs))
  for (let atMs = next(); atMs < forMs; atMs += next()) {
    active = active.filter(({ endMs }) => endMs >= atMs)
    const others = active.map(({ fault }) => fault)
    const open = sources.filter((source) => fitting(source, others).length > 0)
    const [ofSource, ofPart, ofTime, ofSeed] = [random(), random(), random(), random()] as const
    const source = drawnByWeight(open, () => ofSource)
    const fault = source && drawn(fitting(source, others), () => ofPart)
    if (source === undefined || fault === undefined) continue
    const [least, most] = source.forMs
    const lastsMs = Math.max(1, Math.round(least + ofTime * (most - least)))
    const endMs = happensAtOnce(fault) ? atMs : Math.min(atMs + lastsMs, forMs)
    active.push({ fault, endMs })
    const name = `chaos-${seed}-${plan.length + 1}`
    const ends = endMs === atMs ? {} : { forMs: endMs - atMs }
    const chances =
      fault.chance === undefined ? {} : { seed: fault.seed ?? Math.floor(ofSeed * seeds) }
    plan.push({
      atMs,
      forMs: endMs - atMs,
      fault: { ...fault, ...ends, ...chances, name },
      entry: source.entry,
    })
  }
  return plan
}

function tooLong(forMs: number, everyMs: number): ClusterError {
  return new ClusterError(
    'usage',
    `a chaos for ${formatDuration(forMs)} with a fault every ${formatDuration(everyMs)} has more than ${mostFaults} faults`,
    { hint: 'make it shorter, or the faults rarer' },
  )
}
