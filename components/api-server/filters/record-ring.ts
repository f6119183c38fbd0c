/** RecordRing: the newest records of requests, bounded by their count, their bytes and their age. */
import type { KeptRequest } from './kept-request.ts'

export interface RingLimits {
  readonly most: number
  readonly mostBytes: number
  readonly keepMs: number
}

/** Dropped places are given back once there are as many as this, and as many as records. */
const leastSlack = 1024

export class RecordRing {
  readonly #limits: RingLimits
  #records: (KeptRequest | undefined)[] = []
  /** Where the oldest is in `#records`. */
  #head = 0
  #bytes = 0
  #lastDropped = 0

  constructor(limits: RingLimits) {
    this.#limits = limits
  }

  /** The position of the newest record that has left; 0 if none has. */
  get lastDropped(): number {
    return this.#lastDropped
  }

  push(record: KeptRequest): void {
    this.#records.push(record)
    this.#bytes += record.bytes
    this.trim(record.atMs + record.durationMs)
  }

  /** Drops what is too old or too much. */
  trim(nowMs: number): void {
    const { most, mostBytes, keepMs } = this.#limits
    for (;;) {
      const oldest = this.#records[this.#head]
      if (oldest === undefined) break
      const isTooMuch = this.#records.length - this.#head > most || this.#bytes > mostBytes
      if (!isTooMuch && oldest.atMs >= nowMs - keepMs) break
      this.#records[this.#head] = undefined
      this.#head += 1
      this.#bytes -= oldest.bytes
      this.#lastDropped = oldest.seq
    }
    if (this.#head < leastSlack || this.#head * 2 < this.#records.length) return
    this.#records = this.#records.slice(this.#head)
    this.#head = 0
  }

  /** Oldest first. */
  values(): KeptRequest[] {
    return this.#records.slice(this.#head) as KeptRequest[]
  }

  clear(): void {
    this.#records = []
    this.#head = 0
    this.#bytes = 0
  }
}
