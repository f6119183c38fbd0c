/** simulate: what users import. */
import { simulateFrom } from './simulate-seeds.ts'
import { checkSimulation } from './simulation-options.ts'
import type { SimulatedRun, SimulationOptions } from './types.ts'

/**
 * Runs a whole cluster with one seed after another, in this thread: time is the cluster's alone, and which message comes first follows from
 * the seed, as do the faults. The same seed gives the same history, on every machine. Rejects with a SimulationError for the first seed that
 * fails, with an OptionError for invalid options, and with the signal's reason.
 */
export async function simulate(options: SimulationOptions): Promise<readonly SimulatedRun[]> {
  return await simulateFrom(checkSimulation(options))
}
