/** Eviction thresholds: `--eviction-hard=memory.available<100Mi,nodefs.available<10%`, and which of them are crossed. Pure. */
import { quantityValue } from '../../machinery/values/quantity.ts'
import type { HostRoom } from './host-info.ts'

const signals = ['memory.available', 'nodefs.available', 'pid.available'] as const
export type EvictionSignal = (typeof signals)[number]

export interface EvictionThreshold {
  readonly signal: EvictionSignal
  /** Bytes or processes; or a share of the total. */
  readonly amount: { readonly value: number } | { readonly share: number }
}

export interface Pressure {
  readonly memory: boolean
  readonly disk: boolean
  readonly processes: boolean
}

export const noPressure: Pressure = { memory: false, disk: false, processes: false }

/** Throws an Error for the operator when the text is not a list of `signal<quantity or percentage>`. */
export function parseEvictionThresholds(text: string): EvictionThreshold[] {
  return text
    .split(',')
    .filter((item) => item.trim() !== '')
    .map((item) => {
      const [name = '', amount = ''] = item.split('<').map((part) => part.trim())
      const signal = signals.find((known) => known === name)
      if (signal === undefined) {
        throw new Error(`unknown eviction signal "${name}"; known are ${signals.join(', ')}`)
      }
      const percent = /^(\d+(\.\d+)?)%$/.exec(amount)
      if (percent !== null) return { signal, amount: { share: Number(percent[1]) / 100 } }
      try {
        return { signal, amount: { value: quantityValue(amount) } }
      } catch (error) {
        throw new Error(`eviction threshold "${item}": ${(error as Error).message}`, {
          cause: error,
        })
      }
    })
}

/** The part of `total` that the threshold of a signal keeps free; 0 without one. */
export function keptFree(
  thresholds: readonly EvictionThreshold[],
  signal: EvictionSignal,
  total: number,
): number {
  let most = 0
  for (const { signal: which, amount } of thresholds) {
    if (which !== signal) continue
    most = Math.max(most, 'value' in amount ? amount.value : amount.share * total)
  }
  return Math.ceil(most)
}

/** Which thresholds are crossed. */
export function pressureOf(
  thresholds: readonly EvictionThreshold[],
  room: HostRoom,
  memoryBytes: number,
): Pressure {
  const isBelow = (signal: EvictionSignal, available: number, total: number): boolean => {
    const kept = keptFree(thresholds, signal, total)
    return kept > 0 && available < kept
  }
  return {
    memory: isBelow('memory.available', room.memoryAvailableBytes, memoryBytes),
    disk: isBelow('nodefs.available', room.diskAvailableBytes, room.diskTotalBytes),
    processes: isBelow('pid.available', room.processesAvailable, room.processesTotal),
  }
}
