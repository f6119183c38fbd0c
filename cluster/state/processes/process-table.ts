/** Process table: what the operating system says about processes. Each system says it in its own way. */
export interface ProcessTable {
  /** When the process started, as text; undefined if no process has the pid. A zombie does not count, where the system shows it. */
  startTimeOf(pid: number): string | undefined
  /** Whether a look at a start time starts a process of its own, so that a caller should not ask often. */
  readonly isSlow: boolean
  /** Whether a signal (SIGSTOP, or a debugger's) has stopped the process; false where looking is slow. */
  isStopped(pid: number): boolean
  /** Whether the process group has a process; a zombie does not count, where the system shows it. */
  hasGroup(group: number): boolean
  /** Pids of the processes whose environment has `name=value`; none where the system does not show environments. */
  withVariable(name: string, value: string): number[]
}
