/** HostWatch: what the host is and whether it is short of anything, for all nodes of the process. */
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { EvictionThreshold, Pressure } from './eviction-thresholds.ts'
import { noPressure, pressureOf } from './eviction-thresholds.ts'
import type { HostInfo } from './host-info.ts'
import { basicHostInfo, diskSize, hostRoom, refinedHostInfo } from './host-info.ts'

export interface HostWatch {
  info(): HostInfo
  /** As measured at most `freshMs` ago. */
  pressure(): Promise<Pressure>
  /** Finds out what takes longer to find out. */
  refine(): Promise<void>
}

export function createHostWatch(options: {
  thresholds: readonly EvictionThreshold[]
  /** On the disk that counts. */
  folder: string
  freshMs: number
  clock: Clock
  log: Log
}): HostWatch {
  const { thresholds, folder, freshMs, clock, log } = options
  let info: HostInfo = { ...basicHostInfo(), diskBytes: diskSize(folder) }
  let measured: { atMs: number; pressure: Promise<Pressure> } | undefined

  const measure = async (): Promise<Pressure> => {
    if (thresholds.length === 0) return noPressure
    try {
      return pressureOf(thresholds, await hostRoom(folder), info.memoryBytes)
    } catch (error) {
      log.warn('the host cannot be measured', { error: String(error) })
      return noPressure
    }
  }

  return {
    info: () => info,
    pressure() {
      if (measured === undefined || measured.atMs + freshMs <= clock.now()) {
        measured = { atMs: clock.now(), pressure: measure() }
      }
      return measured.pressure
    },
    async refine() {
      info = await refinedHostInfo(info)
    },
  }
}
