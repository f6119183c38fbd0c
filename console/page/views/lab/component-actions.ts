/** component-actions: what a viewer can do with a component in its state. Pure. */
import type { ComponentAction } from '../../../protocol/lab.ts'
import type { ComponentRow } from '../../../protocol/live.ts'

/** States in which a process runs and takes signals. */
const running = new Set(['starting', 'ready', 'stuck'])

/** In the order of the buttons. The console itself has none: it could not answer. */
export function actionsOf({ program, state }: ComponentRow): ComponentAction[] {
  if (program === 'console') return []
  const removal: ComponentAction[] = program === 'node-agent' ? ['remove'] : []
  if (running.has(state)) return ['kill', 'pause', 'restart', 'stop', ...removal]
  if (state === 'paused') return ['resume', 'kill', 'restart', 'stop', ...removal]
  if (state === 'backoff') return ['restart', 'stop', ...removal]
  if (state === 'stopped' || state === 'failed') return ['start', ...removal]
  return []
}

/** Killing the API server takes the page's own connection with it. */
export function needsConfirmation({ program }: ComponentRow, action: ComponentAction): boolean {
  return program === 'api-server' && action === 'kill'
}

export function stateTone(state: string): 'good' | 'warn' | 'bad' | 'dim' {
  if (state === 'ready') return 'good'
  if (state === 'stopped' || state === 'waiting') return 'dim'
  return state === 'failed' || state === 'backoff' || state === 'stuck' ? 'bad' : 'warn'
}

/** The control plane first, then nodes; each in the order of names, numbers as numbers. */
export function inOrder(rows: Iterable<ComponentRow>): ComponentRow[] {
  const rank = ({ program }: ComponentRow): number => (program === 'node-agent' ? 1 : 0)
  return [...rows].toSorted(
    (one, other) =>
      rank(one) - rank(other) || one.name.localeCompare(other.name, 'en', { numeric: true }),
  )
}
