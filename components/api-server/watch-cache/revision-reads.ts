/**
 * RevisionReads: reads the newest revision of a store that others write to. One read is under way at a time; all who ask meanwhile
 * share the next (model: etcd's ReadIndex).
 */
export class RevisionReads {
  readonly #read: () => Promise<number>
  #underWay: Promise<number> | undefined
  #next: Promise<number> | undefined

  constructor(read: () => Promise<number>) {
    this.#read = read
  }

  /** At least the newest revision at the call. Rejects as the read that it waits for. */
  async revision(): Promise<number> {
    if (this.#underWay === undefined) return await this.#send()
    // The one under way may have been answered already: only one that is sent later counts.
    this.#next ??= this.#after(this.#underWay)
    return await this.#next
  }

  async #after(underWay: Promise<number>): Promise<number> {
    await underWay.catch(() => {
      // Those who wait for that one get the error.
    })
    this.#next = undefined
    return await this.#send()
  }

  #send(): Promise<number> {
    const sent = this.#read().finally(() => {
      if (this.#underWay === sent) this.#underWay = undefined
    })
    this.#underWay = sent
    return sent
  }
}
