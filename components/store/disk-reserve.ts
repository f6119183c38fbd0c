/** DiskReserve: a file beside the store that takes room on its disk, to be given up when what frees room has to be written. */
import { randomFillSync } from 'node:crypto'
import { rmSync, statSync, writeFileSync } from 'node:fs'

export class DiskReserve {
  readonly #path: string
  readonly #bytes: number
  #isHeld = false

  constructor(path: string, bytes: number) {
    this.#path = path
    this.#bytes = bytes
  }

  /** Takes the room, if it is not taken yet; false when there is not so much. */
  hold(): boolean {
    if (this.#isHeld) return true
    try {
      const size = statSync(this.#path, { throwIfNoEntry: false })?.size
      // File systems that compress would keep nothing for zeros.
      if (size !== this.#bytes)
        writeFileSync(this.#path, randomFillSync(Buffer.allocUnsafe(this.#bytes)), { mode: 0o600 })
      this.#isHeld = true
    } catch {
      this.giveUp()
    }
    return this.#isHeld
  }

  /** Gives the room back. */
  giveUp(): void {
    this.#isHeld = false
    try {
      rmSync(this.#path, { force: true })
    } catch {
      // Then it takes its room still; what needs it fails, and says so.
    }
  }
}
