/** Glows: what changed a moment ago, and how strongly it still glows. Pure: the caller gives the time. */

const lastsMs = 1600

export class Glows {
  readonly #since = new Map<string, number>()

  touch(key: string, nowMs: number): void {
    this.#since.set(key, nowMs)
  }

  /** From 1, just changed, to 0. */
  strength(key: string, nowMs: number): number {
    const since = this.#since.get(key)
    return since === undefined ? 0 : Math.max(0, 1 - (nowMs - since) / lastsMs)
  }

  /** Whether anything glows; forgets what no longer does. */
  isActive(nowMs: number): boolean {
    for (const [key, since] of this.#since) {
      if (nowMs - since < lastsMs) return true
      this.#since.delete(key)
    }
    return false
  }
}
