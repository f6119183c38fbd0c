/** Which process holds a lock on a file, where the kernel reports it (Linux's /proc/locks). */
import { readFileSync, statSync } from 'node:fs'

/**
 * The process that holds a write lock on the file; undefined without one, or if it cannot be known. The file itself
 * is not opened: closing it again would drop this process's own POSIX locks on it.
 */
export function lockOwner(path: string, locks = '/proc/locks'): number | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    // The kernel prints the device as in Documentation/filesystems/locks: hexadecimal major:minor, then the inode.
    const major = (dev >> 8n) & 0xfffn
    const minor = (dev & 0xffn) | ((dev >> 12n) & 0xfff00n)
    const hex = (part: bigint): string => part.toString(16).padStart(2, '0')
    const file = `${hex(major)}:${hex(minor)}:${ino}`
    for (const line of readFileSync(locks, 'utf8').split('\n')) {
      const [, , , access, pid, where] = line.trim().split(/\s+/)
      if (access === 'WRITE' && where === file && Number(pid) > 0) return Number(pid)
    }
  } catch {
    // No /proc, or the file has just gone: the owner stays unknown.
  }
  return undefined
}
