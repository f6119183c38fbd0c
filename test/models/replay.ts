/**
 * How often a property runs, and from which seed. A failure prints `seed` and `path`; MODEL_SEED and MODEL_PATH run exactly
 * that again, MODEL_RUNS takes another number of runs.
 */
import fc from 'fast-check'
import type { Dialect } from '../../components/api/dialect.ts'

/** The parameters of one property, with what the environment asks for. */
export function parametersOf<T>(runs: number): fc.Parameters<T> {
  const { MODEL_SEED: seed, MODEL_PATH: path, MODEL_RUNS: wanted } = process.env
  return {
    numRuns: wanted === undefined ? runs : Number(wanted),
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    ...(path === undefined ? {} : { path, endOnFailure: true }),
    // Smaller counterexamples are worth a while, not an hour.
    interruptAfterTimeLimit: wanted === undefined ? 240_000 : Number.MAX_SAFE_INTEGER,
    markInterruptAsFailure: true,
  }
}

/** How often of `runs` in that dialect: the same seed tells the same stories in both, and names alone differ. */
export function runsIn(dialect: Dialect, runs: number): number {
  return dialect.name === 'kubernetes' ? runs : runs / 2
}
