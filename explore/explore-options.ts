/** The options of an exploration in code, checked at the door. */
import { optional, plain, type ShapeType } from '../cluster/shape.ts'
import { environment } from '../components/component-base/environment.ts'
import {
  anyObject,
  checkedBy,
  duration,
  flag,
  listOf,
  oneOf,
  options,
  signal,
  whole,
  word,
} from '../library/option-shapes.ts'
import { OptionError } from '../library/option-error.ts'
import type { Duration, ObjectClient } from '../library/types.ts'
import { planKinds } from './planned-fault.ts'
import type { PlanKind } from './planned-fault.ts'

export interface ControllerContext {
  /** For a client library of its own: YAML with everything embedded. */
  readonly kubeconfig: string
  /** The client of this library; closed when the controller is killed. */
  readonly client: ObjectClient
  /** Aborts when the controller is killed: it must do nothing more. It is called anew then. */
  readonly signal: AbortSignal
}

/** As long as it is not killed. */
export type ControllerFunction = (context: ControllerContext) => Promise<unknown>

/** What a story file has (docs/explore.md). Paths of `manifests` are relative to the working directory. */
export interface StoryDocument {
  readonly description?: string | undefined
  readonly manifests?: readonly string[] | undefined
  readonly serviceAccount?: string | undefined
  readonly nodes?: number | undefined
  readonly quiet?: string | undefined
  readonly within?: string | undefined
  readonly ignore?: readonly string[] | undefined
  readonly variables?: Readonly<Record<string, unknown>> | undefined
  readonly steps: readonly Readonly<Record<string, unknown>>[]
}

/** One plan of an exploration, and what came of it. */
export interface ExploredPlan {
  readonly kind: PlanKind | 'mix' | 'values'
  /** In words. */
  readonly title: string
  /** `not-met`: nothing came to the point of the plan. `once`: what was found did not happen again. */
  readonly outcome: 'passed' | 'found' | 'once' | 'not-met'
  /** Of what was found, in words. */
  readonly findings: readonly string[]
  readonly tookMs: number
}

export interface ExploreOptions {
  /** Called at each start. It goes on until it is killed. */
  readonly controller: ControllerFunction
  /** A file, or what stands in one. */
  readonly story?: string | StoryDocument | undefined
  /** In the place of a story: the file of a plan, which runs alone. So does the environment variable EXPLORE_PLAN. */
  readonly plan?: string | undefined
  /** Default: all kinds. */
  readonly plans?: readonly PlanKind[] | undefined
  /** So many plans more, of two or three faults each that found nothing alone. Default 0. */
  readonly mixes?: number | undefined
  /** Which faults are mixed: from 0, below 2^32. Default 1. */
  readonly seed?: number | undefined
  /** Changes values of this CustomResourceDefinition in the place of faults: `caches.example.com`. */
  readonly values?: string | undefined
  /** Clusters at once. Default 2. */
  readonly jobs?: number | undefined
  /** No plan begins later than this. Default `10m`. */
  readonly for?: Duration | undefined
  /** No more plans than this. Default 300. */
  readonly most?: number | undefined
  /** No plan begins after the first finding. */
  readonly first?: boolean | undefined
  /** Folder for the plans that found something. Default `findings`. */
  readonly findings?: string | undefined
  readonly signal?: AbortSignal | undefined
  readonly onPlan?: ((plan: ExploredPlan) => void) | undefined
}

const callable = <T>() =>
  plain('a function', (value) => (typeof value === 'function' ? (value as T) : undefined))
const told = plain('the path of a story, or a story', (value) =>
  (typeof value === 'string' && value !== '') || anyObject.check(value, [], []) !== undefined
    ? (value as string | StoryDocument)
    : undefined,
)

const shape = options('options of an exploration', {
  controller: callable<ControllerFunction>(),
  story: optional(told),
  plan: optional(word),
  plans: optional(listOf('a list of kinds', oneOf(...(Object.keys(planKinds) as PlanKind[])))),
  mixes: optional(whole(0, 1_000_000)),
  seed: optional(whole(0, 2 ** 32 - 1)),
  values: optional(word),
  jobs: optional(whole(1, 100)),
  for: optional(duration),
  most: optional(whole(1, 1_000_000)),
  first: optional(flag),
  findings: optional(word),
  signal: optional(signal),
  onPlan: optional(callable<NonNullable<ExploreOptions['onPlan']>>()),
})

/** Throws an OptionError. There is a story or a plan, which counts. */
export function checkExplore(value: unknown): ShapeType<typeof shape> {
  const checked = checkedBy(shape, 'explore', value)
  const asked = environment['EXPLORE_PLAN'] ?? ''
  if (asked !== '') return { ...checked, plan: asked }
  if (checked.plan === undefined && checked.story === undefined)
    throw new OptionError(['explore: story is missing: it must be the path of a story, or a story'])
  if (checked.values !== undefined && (checked.mixes ?? 0) > 0)
    throw new OptionError(['explore: mixes are of faults, and values have none: leave one out'])
  return checked
}
