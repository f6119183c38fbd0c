/** Lifecycle: which stage an object comes to next, and after which time. Pure, but for what is drawn. */
import type { KubeObject } from '../machinery/objects/object.ts'
import { durationNanos, isDuration } from '../machinery/values/go-duration.ts'
import { compileExpression, compileRequirement } from './expression.ts'
import type { Condition, ValueOf } from './expression.ts'
import type { Stage, StageDelay } from './stage.ts'
import { compileSteps } from './stage-steps.ts'
import type { CompiledStep } from './stage-steps.ts'

/** Draws a number in [0, 1). */
type Random = () => number

export interface CompiledStage {
  readonly stage: Stage
  readonly steps: readonly CompiledStep[]
  matches(object: KubeObject): boolean
  /** Undefined: it has none for this object. */
  weightOf(object: KubeObject): number | undefined
  /** From now, never less than 0. */
  delayMs(object: KubeObject, nowMs: number, random: Random): number
}

const hasAll = (
  wanted: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string>> = {},
): boolean => Object.entries(wanted).every(([name, value]) => given[name] === value)

function wholeNumber(text: string): number | undefined {
  const number = /^[+-]?(0x[0-9a-f]+|\d+)$/i.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(number) ? number : undefined
}

function weightGetter({ weight, weightFrom }: Stage): CompiledStage['weightOf'] {
  if (weightFrom === undefined) return () => weight
  const valueOf = compileExpression(weightFrom)
  return (object) => {
    const value = valueOf(object)
    if (typeof value === 'string') return wholeNumber(value)
    return typeof value === 'number' ? Math.trunc(value) : weight
  }
}

/** A moment or a duration as text, from now; undefined for any other value. */
function millisecondsOf(value: unknown, nowMs: number): number | undefined {
  if (typeof value !== 'string') return undefined
  if (isDuration(value)) return durationNanos(value) / 1e6
  const atMs = /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(atMs) ? undefined : atMs - nowMs
}

/** Gives undefined where there is no duration: for an empty text, and without a value and a number. */
function durationGetter(ms: number | undefined, valueOf: ValueOf | undefined) {
  return (object: KubeObject, nowMs: number): number | undefined => {
    const value = valueOf?.(object)
    return value === '' ? undefined : (millisecondsOf(value, nowMs) ?? ms)
  }
}

function delayGetter(delay: StageDelay | undefined): CompiledStage['delayMs'] {
  if (delay === undefined) return () => 0
  const { durationMs, durationFrom, jitterMs, jitterFrom } = delay
  const duration = durationGetter(durationMs, durationFrom && compileExpression(durationFrom))
  const jitter = durationGetter(jitterMs, jitterFrom && compileExpression(jitterFrom))
  return (object, nowMs, random) => {
    const least = duration(object, nowMs)
    if (least === undefined) return 0
    const most = jitter(object, nowMs) ?? least
    const drawn = most <= least ? most : least + Math.floor(random() * (most - least))
    return Math.max(0, drawn)
  }
}

/** Throws a StageError. */
export function compileStage(stage: Stage): CompiledStage {
  const conditions: Condition[] = stage.requirements.map(compileRequirement)
  return {
    stage,
    steps: compileSteps(stage.steps),
    matches: (object) =>
      hasAll(stage.matchLabels, object.metadata.labels) &&
      hasAll(stage.matchAnnotations, object.metadata.annotations) &&
      conditions.every((holds) => holds(object)),
    weightOf: weightGetter(stage),
    delayMs: delayGetter(stage.delay),
  }
}

/** The stages that an object may come to, each with its weight. */
export function possibleStages(
  stages: readonly CompiledStage[],
  object: KubeObject,
): readonly { readonly stage: CompiledStage; readonly weight: number }[] {
  const matching = stages.filter((stage) => stage.matches(object))
  const weighed = matching.map((stage) => ({ stage, weight: stage.weightOf(object) }))
  const known = weighed.flatMap(({ stage, weight }) =>
    weight === undefined ? [] : [{ stage, weight: Math.max(0, weight) }],
  )
  if (known.length === 0 || matching.length === 1)
    return matching.map((stage) => ({ stage, weight: 1 }))
  const heavy = known.filter(({ weight }) => weight > 0)
  return heavy.length > 0 ? heavy : known.map(({ stage }) => ({ stage, weight: 1 }))
}

/** Draws one of them by weight; undefined if no stage matches. */
export function nextStage(
  stages: readonly CompiledStage[],
  object: KubeObject,
  random: Random,
): CompiledStage | undefined {
  const possible = possibleStages(stages, object)
  if (possible.length < 2) return possible[0]?.stage
  let left = random() * possible.reduce((sum, { weight }) => sum + weight, 0)
  for (const { stage, weight } of possible) {
    left -= weight
    if (left < 0) return stage
  }
  return possible.at(-1)?.stage
}
