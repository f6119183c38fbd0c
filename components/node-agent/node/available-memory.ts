/** AvailableMemory: the memory that programs can have without swapping. Free memory alone leaves out what caches would give back. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { freemem } from 'node:os'
import { promisify } from 'node:util'

interface Means {
  readonly platform?: NodeJS.Platform
  /** Where Linux counts its memory. */
  readonly meminfo?: string
  /** What `vm_stat` of macOS prints. */
  readonly vmStat?: () => Promise<string>
}

async function runVmStat(): Promise<string> {
  return (await promisify(execFile)('vm_stat')).stdout
}

/** Lines such as `Pages inactive:   35246.`; the page size is in the heading. Undefined for anything else. */
function bytesOfVmStat(text: string): number | undefined {
  const pageBytes = Number(/page size of (\d+) bytes/.exec(text)?.[1])
  const pages = ['free', 'inactive', 'speculative', 'purgeable'].map((kind) =>
    Number(new RegExp(String.raw`^Pages ${kind}:\s+(\d+)\.`, 'm').exec(text)?.[1]),
  )
  const bytes = pageBytes * pages.reduce((sum, count) => sum + count, 0)
  return Number.isFinite(bytes) ? bytes : undefined
}

/** Never rejects: where the system does not say more, free memory is the answer. */
export async function availableMemory(means: Means = {}): Promise<number> {
  const { platform = process.platform, meminfo = '/proc/meminfo', vmStat = runVmStat } = means
  try {
    if (platform === 'darwin') return bytesOfVmStat(await vmStat()) ?? freemem()
    if (platform !== 'linux') return freemem()
    // At once: in a process that starts, each turn of the event loop takes milliseconds.
    const found = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync(meminfo, 'utf8'))
    return found === null ? freemem() : Number(found[1]) * 1024
  } catch {
    return freemem()
  }
}
