/** Deliveries: what the watchers of one cache share while they deliver frames. */

/** Longer joined frames are not kept: few watchers share them. */
const maxKeptBytes = 1024 * 1024

interface Deliverer {
  deliver(): void
}

export class Deliveries {
  /** Watchers that have something to deliver in this turn of the event loop. */
  #ready: Deliverer[] = []
  /** Watchers of one kind send the same frames in a turn. */
  #lastJoined: { readonly frames: readonly Buffer[]; readonly bytes: Buffer } | undefined

  /** Calls `deliver` soon; one microtask does so for all that are due in this turn. */
  add(watcher: Deliverer): void {
    if (this.#ready.push(watcher) === 1) queueMicrotask(this.#deliver)
  }

  readonly #deliver = (): void => {
    const watchers = this.#ready
    this.#ready = []
    for (const watcher of watchers) watcher.deliver()
  }

  /** The frames as one buffer, which is shared with the caller before when it joined the same frames. */
  joined(frames: readonly Buffer[]): Buffer {
    const [first] = frames
    if (first !== undefined && frames.length === 1) return first
    const last = this.#lastJoined
    if (
      last?.frames.length === frames.length &&
      last.frames.every((frame, at) => frame === frames[at])
    ) {
      return last.bytes
    }
    const bytes = Buffer.concat(frames)
    this.#lastJoined = bytes.length > maxKeptBytes ? undefined : { frames, bytes }
    return bytes
  }
}
