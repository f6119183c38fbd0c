/** The options of a simulation, checked at the door. */
import { mixOf, mixShape, seedShape } from '../cluster/lab/chaos/mix-shape.ts'
import { defaultMix } from '../cluster/lab/chaos/default-mix.ts'
import type { ChaosMix } from '../cluster/lab/chaos/chaos-mix.ts'
import type { FaultSpec } from '../cluster/lab/fault-spec.ts'
import { ClusterError } from '../cluster/cluster-error.ts'
import { optional, plain } from '../cluster/shape.ts'
import { dialects } from '../components/api/dialect.ts'
import { resourcesOf } from '../components/api/resources.ts'
import { environment } from '../components/component-base/environment.ts'
import { builtInMonitors } from '../monitors/built-in.ts'
import { monitorsOf } from '../monitors/choose-monitors.ts'
import type { ChosenMonitor } from '../monitors/choose-monitors.ts'
import type { Monitor } from '../monitors/monitor.ts'
import { OptionError } from './option-error.ts'
import {
  checkedBy,
  duration,
  either,
  listOf,
  oneOf,
  options,
  signal,
  whole,
  word,
} from './option-shapes.ts'
import type { SimulationContext, SimulationOptions } from './types.ts'

type Part = (context: SimulationContext) => Promise<void>

const seedVariable = 'SIMULATION_SEED'
const mostSeeds = 1_000_000

const part = plain('a function', (value) =>
  typeof value === 'function' ? (value as Part) : undefined,
)
const simulation = options('options of a simulation', {
  story: part,
  controllers: optional(listOf('a list of functions', part)),
  check: optional(part),
  nodes: optional(whole(1, 20)),
  for: optional(duration),
  mix: optional(mixShape),
  latency: optional(duration),
  monitors: optional(
    listOf(
      'a list of monitors',
      either(
        'string',
        oneOf(...builtInMonitors.map(({ name }) => name)),
        options('a monitor', { name: optional(word), kind: word, expression: word }),
      ),
    ),
  ),
  stops: optional(duration),
  seeds: optional(whole(1, mostSeeds)),
  seed: optional(seedShape),
  signal: optional(signal),
  onRun: optional(
    plain('a function', (value) =>
      typeof value === 'function' ? (value as SimulationOptions['onRun']) : undefined,
    ),
  ),
})

export interface CheckedSimulation {
  readonly story: Part
  readonly controllers: readonly Part[]
  readonly check: Part
  readonly nodes: number
  readonly forMs: number
  readonly mix: ChaosMix
  readonly stopsEveryMs: number
  readonly latencyMs: number
  readonly monitors: readonly Monitor[]
  readonly seeds: readonly number[]
  readonly signal: AbortSignal | undefined
  readonly onRun: SimulationOptions['onRun']
}

/** A watch that leaves out events without ending: controllers may trust that no server does this. */
function isSilentLoss({ kind, fault }: FaultSpec): boolean {
  if (kind !== 'requests') return false
  const { watch } = fault.action
  return watch !== undefined && 'events' in watch && watch.events === 'drop'
}

function honestMix(): ChaosMix {
  const mix = defaultMix('embedded')
  return { ...mix, faults: mix.faults.filter(({ fault }) => !isSilentLoss(fault)) }
}

function seedsOf({
  seed,
  seeds = 20,
}: {
  readonly seed?: number | undefined
  readonly seeds?: number | undefined
}): number[] {
  const given = environment[seedVariable]
  if (given === undefined || given === '')
    return seed === undefined ? Array.from({ length: seeds }, (_, index) => index + 1) : [seed]
  if (/^\d{1,10}$/.test(given)) return [Number(given)]
  throw new OptionError([
    `simulate: ${seedVariable} must be a whole number, not ${JSON.stringify(given)}`,
  ])
}

/** Kinds of the story's own are known by their names alone. Throws an OptionError. */
function chosenMonitors(monitors: readonly ChosenMonitor[] | undefined): readonly Monitor[] {
  if (monitors === undefined) return builtInMonitors
  if (monitors.length === 0) return []
  const { all, groups } = resourcesOf(dialects.kubernetes)
  const preferred = all.filter(({ group, version }) =>
    groups.some(({ name, versions }) => name === group && versions[0]?.version === version),
  )
  try {
    return monitorsOf(monitors, { all, preferred, failed: [] }, { mayCome: true })
  } catch (error) {
    if (!(error instanceof ClusterError) || error.kind !== 'usage') throw error
    const hint = error.hint === undefined ? '' : ` (${error.hint})`
    throw new OptionError([`simulate: ${error.message}${hint}`])
  }
}

/** Throws an OptionError. `isOfCluster`: it begins with a cluster as it is, which has its nodes. */
export function checkSimulation(value: unknown, isOfCluster = false): CheckedSimulation {
  const checked = checkedBy(simulation, 'simulate', value)
  if (isOfCluster && checked.nodes !== undefined)
    throw new OptionError(['simulate: nodes cannot be given: the cluster has its nodes'])
  const { monitors, controllers = [], check = async () => {}, nodes = 2 } = checked
  return {
    story: checked.story,
    controllers,
    check,
    nodes,
    forMs: checked.for ?? 300_000,
    mix: checked.mix === undefined ? honestMix() : mixOf(checked.mix),
    stopsEveryMs: checked.stops ?? 60_000,
    latencyMs: checked.latency ?? 50,
    monitors: chosenMonitors(monitors),
    seeds: seedsOf(checked),
    signal: checked.signal,
    onRun: checked.onRun,
  }
}
