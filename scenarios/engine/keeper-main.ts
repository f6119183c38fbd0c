/**
 * Keeper: runs one command in its own process group while the parent process lives. When the parent ends, for whatever
 * reason, the IPC channel closes and the keeper ends the whole group.
 */
import { spawn } from 'node:child_process'
import { systemClock as clock } from '../../components/component-base/clock.ts'
import type { KeeperReport, KeeperWork } from './keeper-protocol.ts'
import { processGroupOf } from './process-group.ts'
import type { ProcessGroup } from './process-group.ts'

const graceMs = 5000
/** Time for killed processes to exit. */
const killMs = 1000

/** Sends SIGTERM, and SIGKILL after the grace period. Resolves when the group is empty. */
async function endGroup(group: ProcessGroup): Promise<void> {
  group.terminate()
  const killAt = clock.now() + graceMs
  let killed = false
  while (group.isAlive() && clock.now() < killAt + killMs) {
    if (!killed && clock.now() >= killAt) {
      killed = true
      group.kill()
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

function keep({ command, args, windowsVerbatimArguments, cwd, environment }: KeeperWork): void {
  const child = spawn(command, args, {
    cwd,
    env: environment,
    detached: true,
    windowsHide: true,
    windowsVerbatimArguments,
    stdio: 'inherit',
  })
  const group = child.pid === undefined ? undefined : processGroupOf(child.pid)
  const leave = async (what: KeeperReport): Promise<void> => {
    if (group !== undefined) await endGroup(group)
    await report(what)
    process.exit()
  }
  child.once('error', (error: NodeJS.ErrnoException) => {
    void leave({ kind: 'failed', code: error.code ?? '', message: error.message })
  })
  child.once('exit', (code, signal) => void leave({ kind: 'ended', code, signal }))
  const { pid } = child
  if (pid === undefined || group === undefined) return
  void report({ kind: 'started', pid })
  process.on('message', (message) => {
    if (message === 'kill') group.kill()
    else void endGroup(group)
  })
  const orphaned = (): void => void endGroup(group).then(() => process.exit())
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
