/**
 * Process group: a command and the processes that it starts. On Windows there are no groups: a command is ended with the processes below
 * it, at once, and those of a command that has ended by itself stay.
 */
import { execFile } from 'node:child_process'
import { systemProcesses } from '../../cluster/state/processes/system-processes.ts'

export interface ProcessGroup {
  /** Asks the processes to end. */
  terminate(): void
  kill(): void
  /** Whether one of them runs. */
  isAlive(): boolean
}

/** Ends a process and those below it. */
type EndTree = (pid: number) => void

/** taskkill of Windows; /F since a program without a window hears of nothing else. */
function taskkill(pid: number): void {
  execFile('taskkill', ['/PID', String(pid), '/T', '/F'], { windowsHide: true }, () => {
    // It fails when the process has ended meanwhile.
  })
}

function signal(group: number, name: NodeJS.Signals): void {
  try {
    process.kill(-group, name)
  } catch {
    // The group is empty, or belongs to another user.
  }
}

/** The group of a process that was started with `detached`. */
export function processGroupOf(
  pid: number,
  platform: NodeJS.Platform = process.platform,
  endTree: EndTree = taskkill,
): ProcessGroup {
  const isAlive = (): boolean => systemProcesses.hasGroup(pid)
  if (platform === 'win32') {
    return { terminate: () => endTree(pid), kill: () => endTree(pid), isAlive }
  }
  return {
    terminate: () => {
      signal(pid, 'SIGTERM')
      signal(pid, 'SIGCONT') // a stopped process sees no TERM
    },
    kill: () => signal(pid, 'SIGKILL'),
    isAlive,
  }
}
