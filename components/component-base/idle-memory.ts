/** Idle memory: gives back to the system what a start or a load left, when it is over. */
import { performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { upkeepOf } from './clock.ts'
import type { Clock } from './clock.ts'

/** How often the process is looked at; the first time, a start is over. */
const lookEveryMs = 5000
/** Of the event loop's time; below this share few requests meet a collection. */
const idleShare = 0.1
/** Compiled code goes too, and is made again: not after each burst of requests. */
const leastPauseMs = 30_000
/** The pause after a collection is at least so many times as long as the collection. */
const pauseFactor = 300
/** Growth that is worth a collection: this much, and a quarter of the heap. */
const leastBytes = 16 * 1024 * 1024
const leastShareOfHeap = 0.25
/** A larger heap may hold so much alive that a collection takes too long: about a millisecond for each live megabyte. */
const mostHeapBytes = 384 * 1024 * 1024

export interface MemoryUse {
  /** For how long the event loop has been at work so far: with too few processors that is longer than it had one. */
  busyMs(): number
  residentBytes(): number
  heapBytes(): number
}

const ownUse: MemoryUse = {
  busyMs: () => performance.eventLoopUtilization().active,
  residentBytes: () => process.memoryUsage.rss(),
  heapBytes: () => getHeapStatistics().used_heap_size,
}

export interface IdleMemoryOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Bytes outside the engine's heap that are in use and may be freed at any time, such as history. */
  readonly keptBytes?: () => number
  /** Gives back what the caller keeps in other places. */
  readonly release?: () => Promise<void>
  readonly use?: MemoryUse
}

/**
 * Collects garbage whenever the process is idle and has grown, or has let go of something, since the last time. The engine by
 * itself collects only as it allocates, so that an idle process would keep what its last load left. Needs `--expose-gc`, and
 * does nothing without. Works until `signal` aborts.
 */
export async function releaseIdleMemory(options: IdleMemoryOptions): Promise<void> {
  const { clock, signal, keptBytes = () => 0, release = async () => {}, use = ownUse } = options
  let before = { residentBytes: 0, keptBytes: keptBytes() }
  let busyMs = use.busyMs()
  let pauseUntilMs = 0

  const isIdle = (): boolean => {
    const now = use.busyMs()
    const isIdleNow = now - busyMs < lookEveryMs * idleShare
    busyMs = now
    return isIdleNow
  }
  const isWorthIt = (): boolean => {
    const heapBytes = use.heapBytes()
    if (heapBytes > mostHeapBytes) return false
    const gain = Math.max(leastBytes, heapBytes * leastShareOfHeap)
    return (
      use.residentBytes() > before.residentBytes + gain || keptBytes() < before.keptBytes - gain
    )
  }

  async function look(): Promise<void> {
    if (!isIdle() || clock.now() < pauseUntilMs || !isWorthIt()) return
    await release()
    const startedMs = use.busyMs()
    globalThis.gc?.({ type: 'major', flavor: 'last-resort' })
    // The collection's own time is no load.
    busyMs = use.busyMs()
    before = { residentBytes: use.residentBytes(), keptBytes: keptBytes() }
    pauseUntilMs = clock.now() + Math.max(leastPauseMs, (busyMs - startedMs) * pauseFactor)
  }

  while (globalThis.gc !== undefined && !signal.aborted) {
    try {
      await upkeepOf(clock).sleep(lookEveryMs, signal)
    } catch (error) {
      if (signal.aborted) return
      throw error
    }
    await look()
  }
}
