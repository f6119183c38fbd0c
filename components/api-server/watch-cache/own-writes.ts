/**
 * OwnWrites: the JSON of objects that this server has stored in another form, until the store shows the commit. The event of an
 * own write then needs no decryption and no decoding.
 */

/** Commits that were lost or failed are never shown, so the oldest give way. */
const mostWrites = 512
const mostBytes = 8 * 1024 * 1024

interface OwnWrite {
  readonly stored: Buffer
  readonly bytes: Buffer
}

export class OwnWrites {
  /** By key in the store. */
  readonly #writes = new Map<string, OwnWrite>()
  #bytes = 0

  /** `stored` is what the store gets under the key for the object's JSON, `bytes`. */
  note(key: string, stored: Buffer, bytes: Buffer): void {
    this.#forget(key)
    this.#writes.set(key, { stored, bytes })
    this.#bytes += stored.length + bytes.length
    for (const oldest of this.#writes.keys()) {
      if (this.#writes.size <= mostWrites && this.#bytes <= mostBytes) return
      this.#forget(oldest)
    }
  }

  /** The JSON of what was stored, if this server stored exactly these bytes last. It is forgotten then. */
  take(key: string, stored: Buffer): Buffer | undefined {
    const write = this.#writes.get(key)
    if (write === undefined || !write.stored.equals(stored)) return undefined
    this.#forget(key)
    return write.bytes
  }

  #forget(key: string): void {
    const write = this.#writes.get(key)
    if (write === undefined) return
    this.#bytes -= write.stored.length + write.bytes.length
    this.#writes.delete(key)
  }
}
