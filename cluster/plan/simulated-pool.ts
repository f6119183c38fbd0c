/** Simulated pool: the simulated nodes that `skiff up` asks for, in as many processes as they need. Pure. */
import type { NodeConfig } from './cluster-config.ts'

const pool = 'simulated'
/** Most nodes of one process: with more, a process takes longer to start than the API server takes for its nodes. */
const mostInProcess = 1250

/**
 * The processes of so many nodes, as equal as possible: `simulated` with the nodes `simulated-0` and so on, or `simulated-1`,
 * `simulated-2` and so on with the nodes `simulated-1-0`.
 */
export function simulatedProcesses(count: number): NodeConfig[] {
  if (count <= mostInProcess) return count > 0 ? [{ name: pool, simulated: count }] : []
  const processes = Math.ceil(count / mostInProcess)
  return Array.from({ length: processes }, (_, index) => ({
    name: `${pool}-${index + 1}`,
    simulated: Math.floor((count + index) / processes),
  }))
}

/** Whether a process of simulated nodes belongs to the pool, and not to one that was added by another name. */
export function isOfPool(processName: string): boolean {
  return /^simulated(-\d+)?$/.test(processName)
}

/** The process of the pool that carries a node; undefined for a node of none. */
export function processInPool(nodeName: string): string | undefined {
  return /^(simulated(?:-\d+)?)-\d+$/.exec(nodeName)?.[1]
}
