/** Disk: what a process meets when it flushes to its disk. strace holds its system calls back, or lets them fail. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

export const diskProgram = '/usr/bin/strace'

/** What each flush meets: it takes so many milliseconds more, or fails as on a broken disk. */
export type Flush = { readonly takesMs: number } | 'fails'

/** Of a process that runs, until the returned function is called. Resolves once it is so. */
export async function disturbFlushes(pid: number, flush: Flush): Promise<() => Promise<void>> {
  const calls = 'fdatasync,fsync'
  const fate = flush === 'fails' ? 'error=EIO' : `delay_enter=${flush.takesMs * 1000}`
  const what = ['-e', `trace=${calls}`, '-e', `inject=${calls}:${fate}`]
  const words = ['-f', '-o', '/dev/null', ...what, '-p', String(pid)]
  const child = spawn(diskProgram, words, { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit')
  // It says that it is attached, or why it is not; a process that is gone it leaves at once.
  const said = once(child.stderr, 'data').then((chunks) => String(chunks))
  const first = await Promise.race([said, ended.then(() => '')])
  if (first.includes('not permitted')) throw new Error(first.trim())
  child.stderr.resume()
  return async () => {
    // It lets go of the process.
    child.kill()
    await ended
  }
}
