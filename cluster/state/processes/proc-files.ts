/** Process table of Linux: the files of /proc (proc(5)). */
import { readdirSync, readFileSync } from 'node:fs'
import { isThere } from './signal-zero.ts'
import type { ProcessTable } from './process-table.ts'

interface Stat {
  readonly state: string | undefined
  readonly group: string | undefined
  readonly startTime: string | undefined
}

export function procFiles(folder: string): ProcessTable {
  /** Fields 3, 5 and 22; undefined when the process is gone. */
  const statOf = (pid: number | string): Stat | undefined => {
    try {
      const stat = readFileSync(`${folder}/${pid}/stat`, 'utf8')
      // The command name is in parentheses and may hold anything; fields are counted from its end.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return { state: fields[0], group: fields[2], startTime: fields[19] }
    } catch {
      return undefined
    }
  }
  const hasVariable = (pid: string, wanted: string): boolean => {
    try {
      return readFileSync(`${folder}/${pid}/environ`, 'latin1').split('\0').includes(wanted)
    } catch {
      return false // gone meanwhile, or another user's
    }
  }
  const pids = (): string[] => readdirSync(folder).filter((entry) => /^[0-9]+$/.test(entry))
  return {
    isSlow: false,
    startTimeOf: (pid) => {
      const stat = statOf(pid)
      return stat?.state === 'Z' ? undefined : stat?.startTime
    },
    isStopped: (pid) => /^[Tt]$/.test(statOf(pid)?.state ?? ''),
    hasGroup: (group) =>
      isThere(-group) &&
      pids().some((pid) => {
        const stat = statOf(pid)
        return stat !== undefined && stat.group === String(group) && stat.state !== 'Z'
      }),
    withVariable: (name, value) =>
      pids()
        .filter((pid) => hasVariable(pid, `${name}=${value}`))
        .map(Number),
  }
}
