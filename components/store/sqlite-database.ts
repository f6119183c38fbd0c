/**
 * The SQLite file of the embedded store: one row for each kept revision, so that a commit only appends. Runs in the
 * writer's thread; the only file that imports node:sqlite.
 */
import { chmodSync, closeSync, openSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { DiskReserve } from './disk-reserve.ts'
import { FileGuard } from './file-guard.ts'
import { lockOwner } from './lock-owner.ts'
import { renameKey } from './rename-key.ts'
import {
  packValues,
  unpackValues,
  type CommitRequest,
  type FillRequest,
  type PackedValues,
  type StoredVersions,
} from './sqlite-messages.ts'
import { StoreError } from './store.ts'
import { syncFolder } from './sync-folder.ts'

/** `PRAGMA user_version`. A change of the tables raises it and converts what is older. */
const schemaVersion = 2
/** The one before: its keys have another layout, in the same tables. */
const earlierKeysVersion = 1
/** `PRAGMA application_id`: 'revs'. */
const applicationId = 0x72657673
/** Four rows of a typical object share a page: 1.5 times the commits of SQLite's 4 KB (docs/decisions/0002). */
const pageSize = 16_384
/** Checkpoint every 4 MB: short enough not to be felt by a commit that waits for it. */
const checkpointPages = 256
/** An answer with values stops growing here. */
const readBytes = 1_000_000
/** While a store opens, no caller waits behind a longer answer. */
const loadBytes = 4_000_000
const loadRows = 8192
/** Bytes that one check reads back. */
const checkBytes = 1_000_000
/** Kept for deletions when the disk is full: what lies in the log between two checkpoints has room in the file then. */
const reserveBytes = pageSize * checkpointPages
/** Of a quota, the part that deletions may take beyond it; values are accepted again when so much is free. */
const reserveOfQuota = 1 / 16
/** SQLite's own limit. */
const mostPages = 0xfffffffe
/** A disk with less is full: there are the logs of others on it too. */
const leastDiskBytes = 1_000_000
const mostReservePages = 64

/** Result codes of sqlite3.h. */
const busy = 5
const corrupt = 11
const full = 13
const notADatabase = 26

type StoredRow = readonly [
  revision: number,
  createRevision: number,
  key: string,
  value: Uint8Array | null,
]

interface DatabaseOptions {
  readonly path: string
  readonly quotaBytes?: number | undefined
  /** False: commits do not wait for the disk. */
  readonly isSynced?: boolean
  /** See SqliteStoreOptions. */
  readonly renames?: ReadonlyMap<string, string> | undefined
}

const noBytes = new Uint8Array(new ArrayBuffer(1), 0, 0)

/** What SQLite gets for a value; a deletion has none. Node.js 22 binds an empty view of an empty buffer as NULL. */
function blobOf(value: Uint8Array | undefined): Uint8Array | null {
  if (value === undefined) return null
  return value.length === 0 ? noBytes : value
}

export class SqliteDatabase {
  readonly #path: string
  readonly #db: DatabaseSync
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #insert: StatementSync
  readonly #select: StatementSync
  readonly #delete: StatementSync
  readonly #scan: StatementSync
  readonly #guard = new FileGuard()
  readonly #reserve: DiskReserve
  readonly #quotaPages: number
  /** Pages that deletions may take beyond the quota. */
  readonly #reservePages: number
  /** Something did not fit, and it is not known yet that more would. */
  #isFull = false
  #usesReserve = false
  #lastRevision: number
  /** Up to here rows have been read back since the last round began. */
  #checkedRevision = 0

  /**
   * Opens or creates the file (mode 0600) and locks it until `close` or the end of the process, however it ends.
   * Throws StoreError `cannot-open`. No value that is committed makes the file larger than `quotaBytes`.
   */
  constructor({ path, quotaBytes = Infinity, isSynced = true, renames }: DatabaseOptions) {
    this.#path = path
    this.#reserve = new DiskReserve(`${path}-reserve`, reserveBytes)
    this.#quotaPages = Math.min(Math.max(Math.floor(quotaBytes / pageSize), 1), mostPages)
    const share = Math.ceil(this.#quotaPages * reserveOfQuota)
    this.#reservePages = Math.min(share, mostReservePages)
    try {
      createFile(path)
      this.#db = new DatabaseSync(path)
    } catch (error) {
      throw cannotOpen(path, error)
    }
    try {
      prepareFile(this.#db, path, isSynced)
      if (renames !== undefined) convertKeys(this.#db, renames)
      // The lock is this store's now: what is opened and closed beside it before would end another's in this process.
      this.#guard.watch(path, 'database')
      this.#guard.watch(`${path}-wal`, 'log')
      this.#limitPages(this.#quotaPages)
      this.#reserve.hold()
      this.#begin = this.#db.prepare('BEGIN IMMEDIATE')
      this.#commit = this.#db.prepare('COMMIT')
      this.#insert = this.#db.prepare('INSERT INTO log VALUES (?, ?, ?, ?)')
      this.#delete = this.#db.prepare('DELETE FROM log WHERE revision = ?')
      this.#select = this.#db.prepare('SELECT value FROM log WHERE revision = ?')
      this.#select.setReturnArrays(true)
      this.#scan = this.#db.prepare(
        'SELECT revision, create_revision, key, value FROM log WHERE revision > ? ORDER BY revision',
      )
      this.#scan.setReturnArrays(true)
      const lastRevision = Number(scalar(this.#db, 'SELECT max(revision) FROM log'))
      this.#lastRevision = Math.max(lastRevision, this.compactedRevision())
    } catch (error) {
      this.close()
      throw cannotOpen(path, error)
    }
  }

  compactedRevision(): number {
    return Number(scalar(this.#db, "SELECT value FROM meta WHERE name = 'compacted'"))
  }

  /** See Calls.load. Throws `cannot-open` when the file turns out to be damaged. */
  load({ afterRevision }: { afterRevision: number }): StoredVersions {
    const revisions: number[] = []
    const createRevisions: number[] = []
    const keys: string[] = []
    const values: (Uint8Array | undefined)[] = []
    let bytes = 0
    let isEnd = true
    try {
      const rows = this.#scan.iterate(afterRevision) as unknown as Iterable<StoredRow>
      for (const [revision, createRevision, key, value] of rows) {
        if (bytes >= loadBytes || keys.length >= loadRows) {
          isEnd = false
          break
        }
        revisions.push(revision)
        createRevisions.push(createRevision)
        keys.push(key)
        values.push(value ?? undefined)
        bytes += value?.length ?? 0
      }
      return { revisions, createRevisions, keys, values: packValues(values), isEnd }
    } catch (error) {
      throw cannotOpen(this.#path, error)
    }
  }

  /** See Calls.fill. */
  fill({ revision, keys, revisions, createRevisions, values }: FillRequest): void {
    const write = (): void => {
      this.#setCompacted(revision)
      for (const [i, value] of unpackValues(values).entries())
        this.#insert.run(revisions[i] ?? 0, createRevisions[i] ?? 0, keys[i] ?? '', blobOf(value))
    }
    this.#transaction(write, { lastRevision: revisions.at(-1) ?? Infinity, freesRoom: false })
    this.#lastRevision = revision
  }

  /** See Calls.commit. */
  commit(request: CommitRequest): PackedValues {
    const { firstRevision, keys, createRevisions, values, replaced } = request
    let answer = packValues([])
    if (keys.length === 0) return answer
    const write = (): void => {
      // A batch behind one that failed must not commit.
      if (firstRevision !== this.#lastRevision + 1)
        throw new Error(`revision ${firstRevision} does not follow ${this.#lastRevision}`)
      answer = packValues(replaced.map((revision) => this.#keptValue(revision)))
      let offset = 0
      for (const [i, key] of keys.entries()) {
        const length = values.lengths[i] ?? -1
        const value = length < 0 ? undefined : new Uint8Array(values.bytes, offset, length)
        this.#insert.run(firstRevision + i, createRevisions[i] ?? 0, key, blobOf(value))
        offset += Math.max(length, 0)
      }
    }
    const lastRevision = firstRevision + keys.length - 1
    const freesRoom = values.bytes.byteLength === 0
    this.#transaction(write, { lastRevision, freesRoom })
    this.#lastRevision = lastRevision
    return answer
  }

  /** See Calls.read. */
  read({ revisions }: { revisions: readonly number[] }): PackedValues {
    const values: (Uint8Array | undefined)[] = []
    let size = 0
    for (const revision of revisions) {
      if (size >= readBytes) break
      const value = this.#value(revision)
      size += value?.length ?? 0
      values.push(value)
    }
    return packValues(values)
  }

  /** See Calls.compact. */
  compact({ revision, dropped }: { revision: number; dropped: readonly number[] }): void {
    const write = (): void => {
      this.#setCompacted(revision)
      for (const gone of dropped) this.#delete.run(gone)
    }
    this.#transaction(write, { lastRevision: Infinity, freesRoom: true })
  }

  /** See Calls.room. */
  hasRoom(): boolean {
    if (!this.#isFull) return true
    const free = Number(scalar(this.#db, 'PRAGMA freelist_count'))
    const pages = Number(scalar(this.#db, 'PRAGMA page_count'))
    if (free + this.#quotaPages - pages < this.#reservePages) return false
    const hasDisk = this.#reserve.hold() && availableBytes(this.#path) >= leastDiskBytes
    // The disk may stay full: values fit into pages that are free. Some of these have to stay for deletions then.
    if (!hasDisk && free < 2 * this.#reservePages) return false
    this.#limitPages(this.#quotaPages)
    this.#isFull = false
    this.#usesReserve = false
    return true
  }

  /** See Calls.check. */
  check(): undefined {
    this.#guard.check()
    try {
      let bytes = 0
      let newest = 0
      const rows = this.#scan.iterate(this.#checkedRevision) as unknown as Iterable<StoredRow>
      for (const [revision, , , value] of rows) {
        newest = revision
        bytes += value?.length ?? 0
        if (bytes >= checkBytes) break
      }
      if (
        newest === 0 &&
        this.#checkedRevision === 0 &&
        this.#lastRevision > this.compactedRevision()
      )
        throw new StoreError('damaged', `${this.#path} has lost its newest revision`)
      this.#checkedRevision = bytes >= checkBytes ? newest : 0
    } catch (error) {
      throw this.#failure('read', error)
    }
    return undefined
  }

  /** Gives back what SQLite keeps in memory of the file. */
  releaseMemory(): undefined {
    this.#db.exec('PRAGMA shrink_memory')
    return undefined
  }

  close(): void {
    this.#db.close()
    this.#guard.close()
  }

  #setCompacted(revision: number): void {
    this.#db.prepare("UPDATE meta SET value = ? WHERE name = 'compacted'").run(revision)
  }

  #limitPages(pages: number): void {
    this.#db.exec(`PRAGMA max_page_count = ${Math.min(pages, mostPages)}`)
  }

  #value(revision: number): Uint8Array | undefined {
    try {
      const row = this.#select.get(revision) as unknown as [Uint8Array | null] | undefined
      return row?.[0] ?? undefined
    } catch (error) {
      throw this.#failure('read', error)
    }
  }

  #keptValue(revision: number): Uint8Array {
    const value = this.#value(revision)
    if (value === undefined) throw new Error(`revision ${revision} is missing`)
    return value
  }

  /**
   * Rolls back and throws when anything fails, unless `lastRevision` turns out to be stored all the same. What frees room may
   * use what is kept for it.
   */
  #transaction(work: () => void, as: { lastRevision: number; freesRoom: boolean }): void {
    this.#guard.check()
    for (;;) {
      try {
        this.#begin.run()
        work()
        this.#commit.run()
        return
      } catch (error) {
        // SQLite rolls some failures back by itself.
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
        if (this.#isStored(as.lastRevision)) return
        if (codeOf(error) === full) {
          this.#isFull = true
          if (as.freesRoom && this.#useReserve()) continue
        }
        throw this.#failure('write', error)
      }
    }
  }

  /** False when it is in use already. */
  #useReserve(): boolean {
    if (this.#usesReserve) return false
    this.#usesReserve = true
    this.#limitPages(this.#quotaPages + this.#reservePages)
    this.#reserve.giveUp()
    try {
      // The log begins anew, in the room that it has on the disk.
      this.#db.exec('PRAGMA wal_checkpoint(RESTART)')
    } catch {
      // Not even that fits; the log goes on in what was given up.
    }
    return true
  }

  #failure(what: 'read' | 'write', error: unknown): StoreError {
    if (error instanceof StoreError) return error
    const result = codeOf(error)
    const isDamaged = result === corrupt || result === notADatabase
    const code = isDamaged ? 'damaged' : result === full ? 'no-space' : 'unavailable'
    const reason = messageOf(error)
    const message = `cannot ${what} ${this.#path}: ${reason}`
    return new StoreError(code, message, { reason, cause: error })
  }

  #isStored(revision: number): boolean {
    try {
      for (const _ of this.#scan.iterate(revision - 1)) return true
      return false
    } catch {
      // It cannot be read either; the caller reports the failure that led here.
      return false
    }
  }
}

/** The file comes into being with its mode, and its name is durable before anything in it is acknowledged. */
function createFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found !== undefined) {
    if (!found.isFile()) throw new Error('it is not a file')
    chmodSync(path, 0o600)
    return
  }
  closeSync(openSync(path, 'wx', 0o600))
  syncFolder(dirname(path))
}

function prepareFile(db: DatabaseSync, path: string, isSynced: boolean): void {
  // The lock comes with the first access and, in this mode, stays. It is the kernel's, so it ends with the process.
  db.exec('PRAGMA locking_mode = EXCLUSIVE')
  const tables = Number(scalar(db, 'SELECT count(*) FROM sqlite_schema'))
  if (tables > 0 && scalar(db, 'PRAGMA application_id') !== applicationId)
    throw new StoreError('cannot-open', `${path} is an SQLite file of another program`)
  const found = Number(scalar(db, 'PRAGMA user_version'))
  if (found > schemaVersion)
    throw new StoreError(
      'cannot-open',
      `${path} was written by a newer release: its schema is ${found}, this release knows ${schemaVersion}`,
    )
  if (tables === 0) db.exec(`PRAGMA page_size = ${pageSize}`)
  db.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${isSynced ? 'FULL' : 'OFF'};
    PRAGMA wal_autocheckpoint = ${checkpointPages};
  `)
  if (tables === 0) createTables(db)
  else db.exec('BEGIN IMMEDIATE; COMMIT')
}

function createTables(db: DatabaseSync): void {
  db.exec(`
    BEGIN IMMEDIATE;
    CREATE TABLE log (
      revision INTEGER PRIMARY KEY,
      create_revision INTEGER NOT NULL,
      key TEXT NOT NULL,
      value BLOB
    ) STRICT;
    CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO meta VALUES ('compacted', 0);
    PRAGMA application_id = ${applicationId};
    PRAGMA user_version = ${schemaVersion};
    COMMIT;
  `)
}

/** Renames the keys of all revisions in one transaction, if the file is of an earlier release. Those releases refuse the file then. */
function convertKeys(db: DatabaseSync, renames: ReadonlyMap<string, string>): void {
  if (scalar(db, 'PRAGMA user_version') !== earlierKeysVersion) return
  db.function('renamed', { deterministic: true }, (key) => renameKey(String(key), renames))
  db.exec(`
    BEGIN IMMEDIATE;
    UPDATE log SET key = renamed(key) WHERE key <> renamed(key);
    PRAGMA user_version = ${schemaVersion};
    COMMIT;
    PRAGMA wal_checkpoint(TRUNCATE);
  `)
}

function scalar(db: DatabaseSync, sql: string): unknown {
  return Object.values(db.prepare(sql).get() ?? {})[0]
}

function availableBytes(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize
  } catch {
    // The next write reports the fault.
    return Infinity
  }
}

function cannotOpen(path: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error
  return new StoreError('cannot-open', `${path} ${reasonOf(path, error)}`, { cause: error })
}

/** The result code of sqlite3.h; extended ones keep the plain one in their low byte. */
function codeOf(error: unknown): number {
  return Number((error as { errcode?: number }).errcode) & 0xff
}

function reasonOf(path: string, error: unknown): string {
  const code = codeOf(error)
  if (code === busy) {
    const pid = lockOwner(path)
    if (pid === process.pid) return 'is already open in this process'
    return `is in use by another process${pid === undefined ? '' : ` (pid ${pid})`}`
  }
  if (code === corrupt || code === notADatabase)
    return `is damaged or not a store: ${messageOf(error)}`
  return `cannot be opened: ${messageOf(error)}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
