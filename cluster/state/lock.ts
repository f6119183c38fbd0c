/** Lock of a cluster: names the process that owns its state directory. A process that has ended owns nothing. */
import { createHash } from 'node:crypto'
import { linkSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { Clock } from '../../components/component-base/clock.ts'
import { replaceFileNow } from '../../components/component-base/replace-file.ts'
import { ClusterError } from '../cluster-error.ts'
import { asIdentity, identify, isAlive } from './process-identity.ts'
import type { ProcessIdentity } from './process-identity.ts'
import { withClearErrors, writePrivateFile } from './state-dir.ts'
import type { StatePaths } from './state-dir.ts'

/** Who holds the lock, if that process is still alive. */
export function lockHolder(paths: StatePaths): ProcessIdentity | undefined {
  const holder = readLock(paths)
  return holder !== undefined && isAlive(holder) ? holder : undefined
}

function identityIn(text: string): ProcessIdentity | undefined {
  try {
    return asIdentity(JSON.parse(text))
  } catch {
    return undefined // it was cut short: there is no holder to wait for
  }
}

function readLock(paths: StatePaths): ProcessIdentity | undefined {
  try {
    return identityIn(readFileSync(paths.lock, 'utf8'))
  } catch {
    return undefined // no lock
  }
}

/** The claim to take over a lock with that text. A dead holder never returns, so each text is claimed once. */
function claimOf(lock: string, text: string): string {
  return `${lock}.after-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Links atomically: of two concurrent callers, one gets true. */
function linkOnce(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Puts `own` in the place of a lock whose holder is dead. Only the holder of the claim may replace it, so a living holder's
 * lock is never moved, not even for a moment. A claimant that died is followed by the next claim. Returns a living holder or
 * claimant; undefined when the lock has to be looked at again, or is ours.
 */
function takeOverDead(lock: string, own: string): ProcessIdentity | undefined {
  const dead = readText(lock)
  if (dead === undefined) return undefined
  let text = dead
  for (;;) {
    const holder = identityIn(text)
    if (holder !== undefined && isAlive(holder)) return holder
    const claim = claimOf(lock, text)
    if (!linkOnce(own, claim)) {
      const claimant = readText(claim)
      if (claimant === undefined) return undefined
      text = claimant
      continue
    }
    try {
      if (readText(lock) === dead) {
        const copy = `${own}.copy`
        linkSync(own, copy)
        replaceFileNow(copy, lock)
      }
    } finally {
      unlinkSync(claim)
    }
    return undefined
  }
}

/**
 * Takes the lock for this process; returns the living holder instead when there is one. A lock whose holder is dead is
 * taken over.
 */
export function acquireLock(
  paths: StatePaths,
  clock: Clock,
): { ok: true } | { ok: false; holder: ProcessIdentity } {
  const temporary = `${paths.lock}.${clock.uuid()}`
  return withClearErrors(paths.lock, () => {
    try {
      const own = JSON.stringify(identify(process.pid))
      writeFileSync(temporary, own, { mode: 0o600 })
      let isTaken = linkOnce(temporary, paths.lock)
      while (!isTaken) {
        const holder = takeOverDead(paths.lock, temporary)
        if (holder !== undefined) return { ok: false, holder }
        isTaken = readText(paths.lock) === own || linkOnce(temporary, paths.lock)
      }
      return { ok: true }
    } finally {
      rmSync(temporary, { force: true })
    }
  })
}

/**
 * Resolves when this process holds the lock: its parent has handed it over, or no living process had it. Throws a ClusterError
 * of kind `already-exists` when any other process holds it.
 */
export async function inheritLock(paths: StatePaths, clock: Clock): Promise<void> {
  for (;;) {
    const lock = acquireLock(paths, clock)
    if (lock.ok || lock.holder.pid === process.pid) return
    const { pid } = lock.holder
    if (pid !== process.ppid) {
      throw new ClusterError('already-exists', `pid ${pid} holds ${paths.lock}`, {
        hint: `it supervises this cluster; stop it with: skiff down --keep-data --name ${basename(paths.dir)}`,
      })
    }
    await clock.sleep(10)
  }
}

/** Hands the lock of this process to another one. The lock has a holder at all times. */
export function handOverLock(paths: StatePaths, heir: ProcessIdentity): void {
  writePrivateFile(paths.lock, JSON.stringify(heir))
}

/** Gives up the lock if this process holds it. */
export function releaseLock(paths: StatePaths): void {
  if (readLock(paths)?.pid === process.pid) rmSync(paths.lock, { force: true })
}
