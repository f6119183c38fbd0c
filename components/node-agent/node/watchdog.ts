/**
 * Watchdog: tells the system's supervisor that the agent lives (systemd's sd_notify; gate SystemdWatchdog). An agent that
 * hangs or is unhealthy goes silent and is restarted by its unit (`WatchdogSec=`, `Restart=on-watchdog`, `NotifyAccess=all`).
 */
import { spawn } from 'node:child_process'
import { backgroundOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'

/** Sends one state line, such as `WATCHDOG=1`. Never rejects. */
export type Notify = (state: string) => Promise<void>

/** How often to report, in ms: half of the time after which the supervisor acts; undefined when it does not watch us. */
export function watchdogInterval(
  environment: Readonly<Record<string, string | undefined>>,
  pid: number,
): number | undefined {
  const { WATCHDOG_USEC: microseconds, WATCHDOG_PID: watched } = environment
  if (watched !== undefined && watched !== String(pid)) return undefined
  const usec = Number(microseconds)
  return microseconds !== undefined && Number.isFinite(usec) && usec > 0 ? usec / 2000 : undefined
}

/** An agent that hangs is found after this time; more is of little use. */
const longestUsefulMs = 10 * 60 * 1000

/** Notifies through systemd's own program, since Node has no datagram sockets in the file system. */
export function systemdNotify(log: Log): Notify {
  return (state) =>
    new Promise((resolve) => {
      const child = spawn('systemd-notify', [state], { stdio: 'ignore' })
      child.on('error', (error) => {
        log.warn('systemd-notify cannot be run', { error: error.message })
        resolve()
      })
      child.on('exit', () => resolve())
    })
}

/** Reports at every interval while the agent is healthy, until the signal aborts. */
export async function runWatchdog(
  options: {
    intervalMs: number
    notify: Notify
    isHealthy: () => boolean
    clock: Clock
    log: Log
  },
  signal: AbortSignal,
): Promise<void> {
  const { intervalMs, notify, isHealthy, clock, log } = options
  const watchMs = intervalMs * 2
  if (watchMs > longestUsefulMs) {
    log.warn('WatchdogSec is longer than 10 minutes: set about 15 s', { seconds: watchMs / 1000 })
  }
  for (;;) {
    if (isHealthy()) await notify('WATCHDOG=1')
    else log.warn('the agent is unhealthy: the watchdog is not told that it lives')
    await backgroundOf(clock).sleep(intervalMs, signal)
  }
}
