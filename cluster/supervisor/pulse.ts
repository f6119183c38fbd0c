/** Pulse: whether a process that runs still does anything. One that is frozen or blocked keeps its ports, but answers no command. */
import type { Clock } from '../../components/component-base/clock.ts'
import { pulseCommand } from '../../components/component-base/commands.ts'
import type { Log } from '../../components/component-base/log.ts'
import { systemProcesses } from '../state/processes/system-processes.ts'
import type { ManagedComponent } from './managed-component.ts'

const lookEveryMs = 2000
const patienceMs = 3000

/** Notices at once that a process was stopped by a signal, and that it goes on. */
export function noticeStopped(component: ManagedComponent, nowMs: number): boolean {
  const { pid, state } = component.status()
  if (pid === undefined || (state !== 'ready' && state !== 'stuck')) return false
  const stopped = systemProcesses.isStopped(pid)
  if (stopped) component.silent(nowMs, 'stopped by a signal')
  return stopped
}

export interface PulseOptions {
  readonly clock: Clock
  readonly log: Log
}

export class Pulse {
  readonly #options: PulseOptions
  /** What has not been answered: a frozen process is asked once, however long it is frozen. */
  readonly #asked = new WeakMap<ManagedComponent, Promise<true>>()

  constructor(options: PulseOptions) {
    this.#options = options
  }

  /** Looks at a running component: it becomes stuck when it does not answer in time, and ready again when it does. */
  async look(component: ManagedComponent): Promise<void> {
    const { clock, log } = this.#options
    const { spec } = component
    const askedMs = clock.now()
    if (noticeStopped(component, askedMs)) return
    const { state, pid } = component.status()
    if (state !== 'ready' && state !== 'stuck') return
    // etcd takes no commands.
    const isAlive = spec.healthUrl !== undefined || (await this.#answers(component))
    // Another process by now: this answer was not its own.
    if (component.status().pid !== pid) return
    if (isAlive) component.answers()
    else component.silent(askedMs, 'does not answer')
    if (!isAlive && state === 'ready') log.warn('component is stuck', { name: spec.name })
  }

  /** False when the process does not answer in time. One that ends counts as answering: its end says more. */
  async #answers(component: ManagedComponent): Promise<boolean> {
    const answered = this.#asked.get(component) ?? this.#ask(component)
    const late = Promise.withResolvers<false>()
    const cancel = this.#options.clock.after(patienceMs, () => late.resolve(false))
    try {
      return await Promise.race([answered, late.promise])
    } finally {
      cancel()
    }
  }

  #ask(component: ManagedComponent): Promise<true> {
    const forget = (): true => {
      this.#asked.delete(component)
      return true
    }
    const answered = component.command(pulseCommand, {}).then(forget, forget)
    this.#asked.set(component, answered)
    return answered
  }
}

/** Looks after the running components every two seconds until the signal aborts. */
export async function watchPulse(
  components: () => Iterable<ManagedComponent>,
  { signal, ...options }: PulseOptions & { readonly signal: AbortSignal },
): Promise<void> {
  const pulse = new Pulse(options)
  while (!signal.aborted) {
    await Promise.all([...components()].map((one) => pulse.look(one)))
    await options.clock.sleep(lookEveryMs, signal).catch(() => {}) // aborted: the loop ends
  }
}
