/** simulate: runs a simulation with one seed after another until one fails, and makes the faults of that one fewer. */
import { loadSimulation } from '../embedded/load-simulation.ts'
import type { SimulatedFault } from './simulated-fault.ts'
import { faultsOf, runSimulation } from './simulated-run.ts'
import type { SimulatedRun, SimulationSpec } from './simulated-run.ts'

export interface SimulatedSeeds {
  readonly runs: readonly SimulatedRun[]
  /** The first that failed, with as few of its faults as it needs. */
  readonly failed: SimulatedRun | undefined
}

export interface SimulateOptions {
  readonly seeds: readonly number[]
  readonly signal?: AbortSignal | undefined
  readonly onRun?: ((run: SimulatedRun) => void) | undefined
}

/** Runs that make a plan smaller, at most. */
const mostTries = 60

let isWarm = false

/** The first run of a process loads what later ones have: it does not count. */
async function warmUp(spec: SimulationSpec): Promise<void> {
  if (isWarm) return
  await loadSimulation()
  const idle = async (): Promise<void> => {}
  await runSimulation(
    { ...spec, forMs: 0, monitors: [], story: idle, check: idle, controllers: [] },
    { seed: 0, faults: [] },
  )
  isWarm = true
}

/** Rejects with the signal's reason, and with what keeps a cluster from starting. */
export async function simulateSeeds(
  spec: SimulationSpec,
  { seeds, signal, onRun }: SimulateOptions,
): Promise<SimulatedSeeds> {
  await warmUp(spec)
  const runs: SimulatedRun[] = []
  for (const seed of seeds) {
    signal?.throwIfAborted()
    const run = await runSimulation(spec, { seed, faults: faultsOf(seed, spec) })
    runs.push(run)
    onRun?.(run)
    if (run.failure !== undefined) return { runs, failed: await shrunk(spec, run, signal) }
  }
  return { runs, failed: undefined }
}

/** As few faults as the same failure needs: halves are left out while that works, then quarters, and so on to single ones. */
async function shrunk(
  spec: SimulationSpec,
  found: SimulatedRun,
  signal: AbortSignal | undefined,
): Promise<SimulatedRun> {
  let smallest = found
  let tries = 0
  const tryWith = async (faults: readonly SimulatedFault[]): Promise<boolean> => {
    signal?.throwIfAborted()
    tries += 1
    const run = await runSimulation(spec, { seed: found.seed, faults })
    if (run.failure?.kind !== found.failure?.kind) return false
    smallest = run
    return true
  }
  if (found.faults.length === 0 || (await tryWith([]))) return smallest
  for (
    let size = Math.ceil(found.faults.length / 2);
    tries < mostTries;
    size = Math.ceil(size / 2)
  ) {
    for (let at = 0; at < smallest.faults.length && tries < mostTries;) {
      const without = smallest.faults.toSpliced(at, size)
      const isSmaller = without.length > 0 && (await tryWith(without))
      if (!isSmaller) at += size
    }
    if (size === 1) break
  }
  return smallest
}
