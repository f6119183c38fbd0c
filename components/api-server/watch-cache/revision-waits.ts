/** RevisionWaits: who waits for a revision to come, the lowest first. */

interface Waiter {
  readonly revision: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export class RevisionWaits {
  readonly #waiting: Waiter[] = []

  async come(revision: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const at = this.#waiting.findIndex((waiter) => waiter.revision > revision)
      this.#waiting.splice(at < 0 ? this.#waiting.length : at, 0, { revision, resolve, reject })
    })
  }

  /** All up to `revision` have come. */
  resolveUpTo(revision: number): void {
    while (this.#waiting.length > 0) {
      const first = this.#waiting[0]
      if (first === undefined || first.revision > revision) break
      this.#waiting.shift()
      first.resolve()
    }
  }

  rejectAll(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}
