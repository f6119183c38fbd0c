/** What `up` shows while a cluster starts: a line per component, a line per node, one for a crowd of simulated nodes. */
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

export function createUpProgress(options: { terminal: Terminal; clock: Clock }): UpProgress {
  // Nodes are added as they start: a cluster that goes on has those it had.
  const progress = createProgress({
    ...options,
    names: ['api-server', 'controller-manager', 'scheduler'],
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
    // Its Node says that it is Ready, often before the process has told its last step.
    if (!readyNodes.has(name) && state !== 'ready') progress.update(name, message ?? state)
  }
  return {
    report: (event) => {
      if (event.kind === 'interrupted') {
        progress.done('last start', 'was interrupted; what it left has been ended')
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
