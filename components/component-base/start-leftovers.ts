/** Start leftovers: what a start made and nobody needs any more, given back to the system. */
import { getHeapStatistics } from 'node:v8'
import type { Clock } from './clock.ts'

/** By then a start, and what meets it, is over. */
const settledMs = 5000
/** A heap that holds much takes long to look through, and keeps its leftovers for what is going on. */
const mostHeapBytes = 64 * 1024 * 1024

/**
 * Collects once, a while after the start: an idle process would keep a fifth of its memory for nothing, since the engine waits
 * for more garbage. Needs `--expose-gc`, and does nothing without; takes some 40 ms.
 */
export function releaseStartLeftovers(
  clock: Clock,
  heapBytes = (): number => getHeapStatistics().used_heap_size,
): void {
  clock.after(settledMs, () => {
    if (heapBytes() > mostHeapBytes) return
    globalThis.gc?.({ type: 'major', flavor: 'last-resort' })
  })
}
