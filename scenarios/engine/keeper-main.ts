/**
 * Keeper: runs one command in its own process group while the parent process lives. When the parent ends, for whatever
 * reason, the IPC channel closes and the keeper ends the whole group.
 */
import { spawn } from 'node:child_process'
import { isGroupAlive } from '../../cluster/state/process-identity.ts'
import { systemClock as clock } from '../../components/component-base/clock.ts'
import type { KeeperReport, KeeperWork } from './keeper-protocol.ts'

const graceMs = 5000
/** Time for killed processes to exit. */
const killMs = 1000

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal)
  } catch {
    // The group is empty, or belongs to another user.
  }
}

/** Sends SIGTERM, and SIGKILL after the grace period. Resolves when the group is empty. */
async function endGroup(group: number): Promise<void> {
  signalGroup(group, 'SIGTERM')
  signalGroup(group, 'SIGCONT') // a stopped process sees no TERM
  const killAt = clock.now() + graceMs
  let killed = false
  while (isGroupAlive(group) && clock.now() < killAt + killMs) {
    if (!killed && clock.now() >= killAt) {
      killed = true
      signalGroup(group, 'SIGKILL')
    }
    await clock.sleep(20)
  }
}

function report(what: KeeperReport): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || process.send === undefined) resolve()
    else process.send(what, undefined, undefined, () => resolve())
  })
}

function keep({ command, args, cwd, environment }: KeeperWork): void {
  const child = spawn(command, args, {
    cwd,
    env: environment,
    detached: true,
    stdio: 'inherit',
  })
  const leave = async (what: KeeperReport): Promise<void> => {
    if (child.pid !== undefined) await endGroup(child.pid)
    await report(what)
    process.exit()
  }
  child.once('error', (error: NodeJS.ErrnoException) => {
    void leave({ kind: 'failed', code: error.code ?? '', message: error.message })
  })
  child.once('exit', (code, signal) => void leave({ kind: 'ended', code, signal }))
  const { pid } = child
  if (pid === undefined) return
  void report({ kind: 'started', pid })
  process.on('message', (message) => {
    if (message === 'kill') signalGroup(pid, 'SIGKILL')
    else void endGroup(pid)
  })
  const orphaned = (): void => void endGroup(pid).then(() => process.exit())
  process.on('disconnect', orphaned)
  if (!process.connected) orphaned()
}

// The parent handles signals that a terminal sends to the whole session.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.once('message', (work) => keep(work as KeeperWork))
// The parent ended before it sent the command.
process.on('disconnect', () => {
  if (process.listenerCount('disconnect') === 1) process.exit()
})
