/** The processes of a cluster that a bench has started. */
import { readdirSync, readFileSync } from 'node:fs'

/** Processes whose command line names the cluster's folder, with the names of their programs. */
export function clusterProcesses(folder: string): { pid: number; program: string }[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
      const program = command.find((part) => part.endsWith('.js'))
      if (program === undefined || !command.some((part) => part.includes(folder))) return []
      return [{ pid: Number(name), program: program.slice(program.lastIndexOf('/') + 1) }]
    } catch {
      // It ended while we looked.
      return []
    }
  })
}
