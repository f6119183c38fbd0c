/** planStops: when the controllers of the user are stopped, drawn by the seed. Pure: the same on every machine. */
import { seededRandom } from '../components/component-base/seeded-random.ts'

/** A process that is killed, and started again. */
export interface ControllerStop {
  /** After the beginning. */
  readonly atMs: number
  /** How long it is away. */
  readonly forMs: number
  /** Its number, from 1. */
  readonly controller: number
  /** `now`: wherever it is; otherwise at its next write: it is not sent, or it is answered and the answer lost. */
  readonly when: StopMoment
}

export type StopMoment = 'now' | 'before-write' | 'after-write'

export interface StopOptions {
  readonly seed: number
  /** How many controllers there are. */
  readonly controllers: number
  /** No controller is stopped after that. */
  readonly forMs: number
  /** Between two stops of a controller, on average; 0: none is stopped. */
  readonly everyMs: number
}

const moments: readonly StopMoment[] = ['now', 'before-write', 'after-write']
const leastAwayMs = 500
const mostAwayMs = 10_000
/** More would fill the memory. */
const mostStops = 10_000
/** The faults draw from the seed itself. */
const apart = 0x9e37_79b9

/** Sorted by controllers, then by time. */
export function planStops({ seed, controllers, forMs, everyMs }: StopOptions): ControllerStop[] {
  if (everyMs === 0) return []
  const random = seededRandom((seed ^ apart) >>> 0)
  const stops: ControllerStop[] = []
  for (let controller = 1; controller <= controllers; controller += 1) {
    const next = (): number => Math.max(1, Math.round(random() * 2 * everyMs))
    for (let atMs = next(); atMs < forMs && stops.length < mostStops; atMs += next()) {
      const when = moments[Math.floor(random() * moments.length)] ?? 'now'
      const awayMs = Math.round(leastAwayMs + random() * (mostAwayMs - leastAwayMs))
      stops.push({ atMs, forMs: awayMs, controller, when })
    }
  }
  return stops
}
