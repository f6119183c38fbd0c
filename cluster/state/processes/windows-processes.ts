/** Process table of Windows: start times by PowerShell. Windows has no stopped processes and no process groups. */
import { execFileSync } from 'node:child_process'
import type { ProcessTable } from './process-table.ts'
import { isThere } from './signal-zero.ts'

/** Runs a PowerShell command; gives what it prints. */
export type PowerShell = (command: string) => string

function runPowerShell(command: string): string {
  return execFileSync(
    'powershell.exe',
    ['-NoLogo', '-NoProfile', '-NonInteractive', '-Command', command],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], windowsHide: true },
  )
}

export function windowsProcesses(powerShell: PowerShell = runPowerShell): ProcessTable {
  return {
    isSlow: true,
    startTimeOf: (pid) => {
      // Most questions are about processes that have ended: PowerShell takes its time.
      if (!isThere(pid)) return undefined
      const command = `(Get-Process -Id ${pid} -ErrorAction SilentlyContinue).StartTime.ToFileTimeUtc()`
      // Empty: it has just ended, or belongs to another user.
      return powerShell(`try { ${command} } catch { }`).trim() || undefined
    },
    isStopped: () => false,
    hasGroup: (group) => isThere(group),
    withVariable: () => [],
  }
}
