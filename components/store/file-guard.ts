/**
 * FileGuard: whether the files that SQLite has open are still those in the folder, and begin as they did. SQLite writes on into
 * a file that was removed, and does not read back pages that it has in memory; writes that it acknowledges then are lost.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { StoreError } from './store.ts'

/** "SQLite format 3", and the page size (sqlite.org/fileformat2.html, 1.3). */
const databaseHead = Buffer.from('SQLite format 3\0')
/** The write-ahead log's two magic numbers differ in the last bit (4.1). */
const logHead = Buffer.from([0x37, 0x7f, 0x06])

interface GuardedFile {
  readonly path: string
  readonly descriptor: number
  readonly inode: bigint
  readonly device: bigint
  readonly head: Buffer
  size: bigint
}

export class FileGuard {
  #files: GuardedFile[] = []
  readonly #start = Buffer.alloc(databaseHead.length)

  /** Takes the file as it is now. Its descriptor stays open: closing one drops this process's POSIX locks on the file. */
  watch(path: string, kind: 'database' | 'log'): void {
    const descriptor = openSync(path, 'r')
    const { ino: inode, dev: device } = fstatSync(descriptor, { bigint: true })
    const head = kind === 'database' ? databaseHead : logHead
    this.#files.push({ path, descriptor, inode, device, head, size: 0n })
  }

  /** Throws StoreError `damaged`, which says what has happened to which file. */
  check(): void {
    for (const file of this.#files) {
      const fault = this.#faultOf(file)
      if (fault !== undefined) throw new StoreError('damaged', `${file.path} ${fault}`)
    }
  }

  #faultOf(file: GuardedFile): string | undefined {
    const found = statSync(file.path, { bigint: true, throwIfNoEntry: false })
    if (found === undefined) return 'was removed'
    if (found.ino !== file.inode || found.dev !== file.device) return 'was replaced'
    if (found.size < file.size) return 'was cut off'
    file.size = found.size
    const read = readSync(file.descriptor, this.#start, 0, file.head.length, 0)
    // Empty until something is written.
    if (read === 0 && found.size === 0n) return undefined
    const isIntact = this.#start.compare(file.head, 0, file.head.length, 0, file.head.length) === 0
    return isIntact ? undefined : 'was overwritten'
  }

  /** After the files' own end only. */
  close(): void {
    for (const { descriptor } of this.#files.splice(0)) closeSync(descriptor)
  }
}
