/** System processes: the process table of this machine. */
import { existsSync } from 'node:fs'
import { pidsAlone } from './pids-alone.ts'
import { procFiles } from './proc-files.ts'
import type { ProcessTable } from './process-table.ts'
import { psListing } from './ps-listing.ts'
import { windowsProcesses } from './windows-processes.ts'

export interface System {
  readonly platform: NodeJS.Platform
  /** Where Linux shows its processes; a container can lack it. */
  readonly procFolder?: string
}

/** The table of this machine: /proc on Linux, PowerShell on Windows, ps elsewhere; pids alone on a Linux without /proc. */
export function processTableOf({ platform, procFolder = '/proc' }: System): ProcessTable {
  if (platform === 'win32') return windowsProcesses()
  if (platform !== 'linux') return psListing(platform)
  // ps reads /proc as well.
  return existsSync(`${procFolder}/self/stat`) ? procFiles(procFolder) : pidsAlone()
}

export const systemProcesses: ProcessTable = processTableOf({ platform: process.platform })
