/** Pulse: whether a process that runs still does anything. One that is frozen or blocked keeps its port, but answers nothing. */
import { connect } from 'node:tls'
import type { Clock } from '../../components/component-base/clock.ts'
import type { Log } from '../../components/component-base/log.ts'
import type { Program } from '../plan/cluster-config.ts'
import type { ManagedComponent } from './managed-component.ts'
import { systemProcesses } from '../state/processes/system-processes.ts'

/** Those whose port is their own TLS listener, and that are few. */
const handshaking: ReadonlySet<Program> = new Set(['api-server', 'controller-manager', 'scheduler'])
const lookEveryMs = 2000
const patienceMs = 3000

/**
 * Resolves with false when the process that listens there accepts connections and completes no handshake in time. A port where
 * nothing listens says nothing about the process. Sends no request: that would be in audit logs and metrics.
 */
export function completesHandshake(
  at: { readonly host: string; readonly port: number },
  clock: Clock,
): Promise<boolean> {
  return new Promise((resolve) => {
    // Nothing is sent or believed, so it does not matter who it is.
    const socket = connect({ ...at, rejectUnauthorized: false })
    const cancel = clock.after(patienceMs, () => settle(false))
    const settle = (answered: boolean): void => {
      cancel()
      socket.destroy()
      resolve(answered)
    }
    socket.once('secureConnect', () => settle(true))
    socket.on('error', () => settle(true))
  })
}

/** Notices at once that a process was stopped by a signal, and that it goes on. */
export function noticeStopped(component: ManagedComponent, nowMs: number): boolean {
  const { pid, state } = component.status()
  if (pid === undefined || (state !== 'ready' && state !== 'stuck')) return false
  const stopped = systemProcesses.isStopped(pid)
  if (stopped) component.silent(nowMs, 'stopped by a signal')
  return stopped
}

/**
 * Looks after the running components every two seconds until the signal aborts. Those of the control plane have to complete a
 * TLS handshake; of node agents, of which there may be hundreds, the cluster itself notices that they are silent.
 */
export async function watchPulse(
  components: () => Iterable<ManagedComponent>,
  options: {
    readonly address: string
    readonly clock: Clock
    readonly log: Log
    readonly signal: AbortSignal
  },
): Promise<void> {
  const { address, clock, log, signal } = options
  const look = async (component: ManagedComponent): Promise<void> => {
    const askedMs = clock.now()
    if (noticeStopped(component, askedMs)) return
    const { state, info, pid } = component.status()
    const port = handshaking.has(component.spec.program) ? info?.['port'] : undefined
    if (state !== 'ready' && state !== 'stuck') return
    const isAlive =
      typeof port !== 'number' ||
      (await completesHandshake({ host: component.spec.address ?? address, port }, clock))
    // Another process by now: this answer was not its own.
    if (component.status().pid !== pid) return
    if (isAlive) component.answers()
    else component.silent(askedMs, 'does not answer')
    if (!isAlive && state === 'ready') log.warn('component is stuck', { name: component.spec.name })
  }
  while (!signal.aborted) {
    await Promise.all([...components()].map(look))
    await clock.sleep(lookEveryMs, signal).catch(() => {}) // aborted: the loop ends
  }
}
