/** Progress of `skiff up`: a line per component and node, and one for all simulated nodes. */
import type { Clock } from '../../components/component-base/clock.ts'
import type { Progress } from '../bring-up.ts'
import type { ComponentStatus } from '../control-protocol.ts'
import { simulatedPool } from '../launch.ts'
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
  const readyNodes = new Set<string>()
  let readyInCrowd = 0

  const nodeIsReady = (name: string): void => {
    if (name.startsWith(`${simulatedPool}-`)) {
      readyInCrowd += 1
      if (!readyNodes.has(simulatedPool)) {
        progress.update(simulatedPool, `${readyInCrowd} nodes Ready`)
      }
      return
    }
    readyNodes.add(name)
    progress.done(name, 'Ready')
  }
  const nodeProcess = ({ name, state, message }: ComponentStatus): void => {
    if (name === simulatedPool && state === 'ready') {
      readyNodes.add(name)
      progress.done(name, 'all Ready')
    }
    if (name === simulatedPool && readyInCrowd > 0 && state === 'starting') {
      progress.update(name, `${readyInCrowd} nodes Ready`)
      return
    }
    // The Node often becomes Ready before the agent has reported its last step.
    if (!readyNodes.has(name) && state !== 'ready') progress.update(name, message ?? state)
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
