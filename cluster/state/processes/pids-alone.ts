/**
 * Process table of a Linux without /proc: whether a pid is in use is all that can be known. A process that got the pid of one that
 * has ended is taken for it.
 */
import type { ProcessTable } from './process-table.ts'
import { isThere } from './signal-zero.ts'

export function pidsAlone(): ProcessTable {
  return {
    isSlow: false,
    startTimeOf: (pid) => (isThere(pid) ? 'unknown' : undefined),
    isStopped: () => false,
    hasGroup: (group) => isThere(-group),
    withVariable: () => [],
  }
}
