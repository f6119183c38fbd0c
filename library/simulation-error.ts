/** SimulationError: a seed with which a simulation has failed. */
import type { SimulatedRun } from './types.ts'

export class SimulationError extends Error {
  /** With as few of the seed's faults as the failure needs. */
  readonly run: SimulatedRun
  /** The monitor's name, or which part has failed. */
  readonly kind: string
  /** What failed, and the faults that it needs. */
  readonly story: string

  constructor(run: SimulatedRun, failure: { readonly kind: string; readonly text: string }) {
    const { seed, faults } = run
    const lines =
      faults.length === 0
        ? ['It needs no fault.']
        : ['The faults that it needs:', ...faults.map((fault) => `  ${fault}`)]
    const story = [`seed ${seed}: ${failure.kind}: ${failure.text}`, ...lines].join('\n')
    super(`${story}\nAgain: SIMULATION_SEED=${seed}`)
    this.name = 'SimulationError'
    this.run = run
    this.kind = failure.kind
    this.story = story
  }
}
