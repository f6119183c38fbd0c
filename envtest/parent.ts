/**
 * Parent: ends a process with the one that started it. envtest starts its servers as children and stops them in the end; a test
 * binary that is killed cannot, and a server notices that only by looking.
 */
import { environment } from '../components/component-base/environment.ts'
import type { Clock } from '../components/component-base/clock.ts'
import type { Log } from '../components/component-base/log.ts'

/** The pid of the parent, as the script saw it that became this process: the parent may be gone before this process looks. */
export const parentVariable = 'SKIFF_ENVTEST_PARENT'

const lookEveryMs = 1000

/** What the system says about processes. */
export interface Processes {
  parent(): number
  exists(pid: number): boolean
}

const systemProcesses: Processes = {
  parent: () => process.ppid,
  exists: (pid) => {
    try {
      return process.kill(pid, 0)
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EPERM'
    }
  },
}

function firstParent(processes: Processes): number {
  const seen = Number(environment[parentVariable])
  return Number.isInteger(seen) && seen > 0 ? seen : processes.parent()
}

export interface Ending {
  /** Aborts when the process is to stop, or when its parent is gone. */
  readonly signal: AbortSignal
  /** Whether the parent is gone. */
  isOrphaned(): boolean
}

/**
 * Looks once a second, until `signal` aborts. On Unix an orphan gets another parent, and on Windows it keeps the pid of one that
 * does not exist.
 */
export function endWithParent(
  { signal, clock, log }: { signal: AbortSignal; clock: Clock; log: Log },
  processes: Processes = systemProcesses,
  pid: number = firstParent(processes),
): Ending {
  const orphaned = new AbortController()
  let cancel = (): void => {}
  const look = (): void => {
    if (processes.parent() === pid && processes.exists(pid)) {
      cancel = clock.after(lookEveryMs, look)
      return
    }
    log.info('stopping', { why: `the process that started it, pid ${pid}, is gone` })
    orphaned.abort(new Error('the process that started it is gone'))
  }
  look()
  signal.addEventListener('abort', () => cancel(), { once: true })
  return {
    signal: AbortSignal.any([signal, orphaned.signal]),
    isOrphaned: () => orphaned.signal.aborted,
  }
}
