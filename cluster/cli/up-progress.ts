/** Progress of `skiff up`: a line per component and node, and one per process of simulated nodes. */
import type { Clock } from '../../components/component-base/clock.ts'
import type { Progress } from '../bring-up.ts'
import type { ComponentStatus } from '../control-protocol.ts'
import { isOfPool, processInPool } from '../plan/simulated-pool.ts'
import { createProgress } from './progress.ts'
import type { Terminal } from './terminal.ts'

export interface UpProgress {
  report(event: Progress): void
  end(): void
}

const longestName = 'controller-manager'

export function createUpProgress(options: { terminal: Terminal; clock: Clock }): UpProgress {
  const progress = createProgress({
    ...options,
    names: [],
    width: longestName.length,
  })
  /** Nodes and processes of simulated nodes that are done. */
  const done = new Set<string>()
  /** How many nodes are Ready, by the process that carries them. */
  const readyInProcess = new Map<string, number>()

  const nodeIsReady = (name: string): void => {
    const process = processInPool(name)
    if (process === undefined) {
      done.add(name)
      progress.done(name, 'Ready')
      return
    }
    const count = (readyInProcess.get(process) ?? 0) + 1
    readyInProcess.set(process, count)
    if (!done.has(process)) progress.update(process, `${count} nodes Ready`)
  }
  const nodeProcess = ({ name, state, message }: ComponentStatus): void => {
    const count = readyInProcess.get(name)
    if (isOfPool(name) && state === 'ready') {
      done.add(name)
      progress.done(name, 'all Ready')
    } else if (count !== undefined && state === 'starting') {
      progress.update(name, `${count} nodes Ready`)
    } else if (!done.has(name) && state !== 'ready') {
      // The Node often becomes Ready before the agent has reported its last step.
      progress.update(name, message ?? state)
    }
  }
  return {
    report: (event) => {
      if (event.kind === 'planned') {
        // Nodes are added as they start.
        for (const name of event.names) progress.update(name, 'waiting')
        return
      }
      if (event.kind === 'interrupted') {
        progress.done('last start', 'was interrupted; its processes have been ended')
        return
      }
      if (event.kind === 'node') {
        nodeIsReady(event.name)
        return
      }
      const { name, program, state, message } = event.status
      if (state === 'failed') progress.failed(name, message ?? 'failed')
      else if (program === 'node-agent') nodeProcess(event.status)
      else if (state === 'ready') progress.done(name, 'ready')
      else progress.update(name, message ?? state)
    },
    end: () => progress.end(),
  }
}
