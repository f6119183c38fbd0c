/** Beside: a process that runs beside the API server: started again when it ends, and ended with the server, however that ends. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { builtPrograms } from '../cluster/plan/programs.ts'
import { allocatorSettings } from '../cluster/plan/plan.ts'
import type { ComponentSpec } from '../cluster/plan/component-spec.ts'
import { environment } from '../components/component-base/environment.ts'
import type { Clock } from '../components/component-base/clock.ts'
import type { Log } from '../components/component-base/log.ts'

interface Parts {
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

const restartMs = 1000
const stopTimeoutMs = 5000

/** Over a channel: a component ends with the other end of it. It is in this process's group, and gets the group's signals. */
function start({ program, nodeOptions, args }: ComponentSpec): ChildProcess {
  const { folder } = builtPrograms()
  return spawn(process.execPath, [...nodeOptions, join(folder, `${program}.js`), ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ignore', 'ipc'],
    env: { ...environment, ...allocatorSettings },
  })
}

/** Resolves when the process has ended, or could not be started, with how. */
async function ended(
  child: ChildProcess,
  { clock, signal }: Pick<Parts, 'clock' | 'signal'>,
): Promise<object> {
  let cancel = (): void => {}
  const stop = (): void => {
    if (child.connected) child.disconnect()
    cancel = clock.after(stopTimeoutMs, () => child.kill('SIGKILL'))
  }
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await new Promise((resolve) => {
      child.once('error', (error) => resolve({ error }))
      child.once('exit', (code, by) => resolve({ code, signal: by }))
    })
  } finally {
    cancel()
    signal.removeEventListener('abort', stop)
  }
}

/** Resolves when the signal has aborted and the process has ended. */
export async function keepRunning(
  spec: ComponentSpec,
  { clock, log, signal }: Parts,
): Promise<void> {
  while (!signal.aborted) {
    const how = await ended(start(spec), { clock, signal })
    if (signal.aborted) return
    log.error('a process has ended; it is started again', { name: spec.name, ...how })
    try {
      await clock.sleep(restartMs, signal)
    } catch {
      return // the signal aborted meanwhile
    }
  }
}
