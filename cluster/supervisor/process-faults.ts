/** Process faults: killed, frozen and starved processes. */
import type { Clock } from '../../components/component-base/clock.ts'
import type { HeldFault } from '../lab/levers.ts'
import type { ComponentStatus } from '../control-protocol.ts'
import type { ManagedComponent } from './managed-component.ts'

/** A starved process runs a tenth of the time, in turns that are short beside its timeouts. */
const starvedMs = 45
const fedMs = 5

/** A fault that acts on every process that a component runs. */
export interface ProcessFaultHeld extends HeldFault {
  /** The component has changed: it may run another process now. */
  changed?(status: ComponentStatus): void
}

export async function killed(components: readonly ManagedComponent[]): Promise<ProcessFaultHeld> {
  await Promise.all(components.map((component) => component.kill()))
  return { fired: async () => components.length, end: async () => {} }
}

export function frozen(components: readonly ManagedComponent[]): ProcessFaultHeld {
  let fired = 0
  const pids = new Map<string, number | undefined>()
  const freeze = (component: ManagedComponent): void => {
    component.pause()
    pids.set(component.spec.name, component.status().pid)
    fired += 1
  }
  for (const component of components) freeze(component)
  let hasEnded = false
  return {
    fired: async () => fired,
    changed: ({ name, state, pid }) => {
      const component = components.find(({ spec }) => spec.name === name)
      if (hasEnded || component === undefined || state !== 'ready' || pids.get(name) === pid) return
      freeze(component)
    },
    end: async () => {
      hasEnded = true
      for (const component of components) {
        if (component.status().state === 'paused') component.resume()
      }
    },
  }
}

function send(component: ManagedComponent, signal: 'SIGSTOP' | 'SIGCONT'): boolean {
  if (component.status().pid === undefined) return false
  component.signal(signal)
  return true
}

/** `clock`: real time, which the system's scheduler keeps. */
export function starved(components: readonly ManagedComponent[], clock: Clock): ProcessFaultHeld {
  let fired = 0
  const ending = new AbortController()
  const { signal } = ending
  const starve = async (component: ManagedComponent): Promise<void> => {
    while (!signal.aborted) {
      if (send(component, 'SIGSTOP')) fired += 1
      await clock.sleep(starvedMs, signal).catch(() => {}) // it ends
      send(component, 'SIGCONT')
      await clock.sleep(fedMs, signal).catch(() => {}) // it ends
    }
  }
  const running = Promise.all(components.map(starve))
  return {
    fired: async () => fired,
    end: async () => {
      ending.abort(new Error('healed'))
      await running
    },
  }
}
