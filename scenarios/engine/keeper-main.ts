/**
 * Keeper: runs one command in a process group of its own, for as long as the process that started the keeper lives. However that
 * process ends, the channel to it does too, and then the whole group is ended.
 */
import { spawn } from 'node:child_process'
import { isGroupAlive } from '../../cluster/state/process-identity.ts'
import { systemClock as clock } from '../../components/component-base/clock.ts'
import type { KeeperReport, KeeperWork } from './keeper-protocol.ts'

const graceMs = 5000
/** What was killed is gone by then, if it can go. */
const killMs = 1000

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal)
  } catch {
    // It has no process any more, or none of this user.
  }
}

/** TERM, and KILL for what is left after the grace. Resolves when the group is empty. */
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

// Signals that a terminal sends to everybody are for whoever started it to handle.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.once('message', (work) => keep(work as KeeperWork))
// Orphaned before it was told what to do.
process.on('disconnect', () => {
  if (process.listenerCount('disconnect') === 1) process.exit()
})
