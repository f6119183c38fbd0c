/** ProxiedConnection: one connection through a proxy of the lab, as the faults of the network let it be. */
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { Clock } from '../../../components/component-base/clock.ts'
import type { SocketPlace } from '../../../components/component-base/routes.ts'
import { concerns, delayOf, isInTurn, isSevered, isSilent, isUsedUp } from './network-rules.ts'
import type { Direction, Ends, NetworkRule } from './network-rules.ts'

export interface ConnectionOptions {
  readonly ends: Ends
  /** Those that hold now. */
  readonly rules: () => readonly NetworkRule[]
  /** Real time: the network does not follow a cluster's clock. */
  readonly clock: Clock
}

interface Chunk {
  /** Undefined: the sender has ended. */
  readonly bytes: Buffer | undefined
  readonly dueMs: number
}

/** More than this waits in the sender. */
const mostQueuedBytes = 262_144

/** One direction of a connection. What is read is queued until it is due. */
class Lane {
  readonly #from: Socket
  readonly #to: Socket
  readonly #direction: Direction
  readonly #options: ConnectionOptions
  readonly #queue: Chunk[] = []
  #queuedBytes = 0
  /** When the last chunk arrives, and when the link is free again. */
  #lastDueMs = 0
  #freeMs = 0
  /** A rule that keeps everything back. */
  #silencedBy: NetworkRule | undefined
  /** Bytes were kept back by a cut: what follows them cannot be understood. */
  hasLost = false
  #cancel: (() => void) | undefined
  /** The receiver has asked for a pause. */
  #isFull = false

  constructor(
    from: Socket,
    to: Socket,
    more: { direction: Direction; options: ConnectionOptions },
  ) {
    this.#from = from
    this.#to = to
    this.#direction = more.direction
    this.#options = more.options
    from.on('data', (bytes: Buffer) => this.#take(bytes))
    from.on('end', () => this.#put({ bytes: undefined, dueMs: this.#lastDueMs }))
    to.on('drain', () => {
      this.#isFull = false
      this.#send()
    })
    this.look()
  }

  /** The rules have changed. */
  look(): void {
    this.#silencedBy = this.#rules().find(({ fault }) => isSilent(fault))
    this.#send()
  }

  close(): void {
    this.#cancel?.()
  }

  #rules(): NetworkRule[] {
    const { rules, ends } = this.#options
    return rules().filter((rule) => !isUsedUp(rule) && concerns(rule.fault, ends, this.#direction))
  }

  #take(bytes: Buffer): void {
    const { clock } = this.#options
    let dueMs = clock.now()
    for (const rule of this.#rules()) {
      const { fault } = rule
      if (isSilent(fault)) {
        rule.fired += 1
        if (fault.action === 'cut') this.hasLost = true
        continue
      }
      const delayMs = delayOf(fault, { bytes: bytes.length, random: () => clock.random() })
      if (delayMs === 0) continue
      rule.fired += 1
      if (isInTurn(fault)) {
        this.#freeMs = Math.max(this.#freeMs, dueMs) + delayMs
        dueMs = this.#freeMs
      } else dueMs += delayMs
    }
    // TCP keeps the order.
    this.#lastDueMs = Math.max(this.#lastDueMs, dueMs)
    this.#put({ bytes, dueMs: this.#lastDueMs })
  }

  #put(chunk: Chunk): void {
    this.#queue.push(chunk)
    this.#queuedBytes += chunk.bytes?.length ?? 0
    if (this.#queuedBytes > mostQueuedBytes) this.#from.pause()
    this.#send()
  }

  /** Sends what is due, and comes back for the rest. */
  #send(): void {
    this.#cancel?.()
    this.#cancel = undefined
    for (;;) {
      const [first] = this.#queue
      if (first === undefined || this.#silencedBy !== undefined || this.#isFull) return
      const waitMs = first.dueMs - this.#options.clock.now()
      if (waitMs > 0) {
        this.#cancel = this.#options.clock.after(waitMs, () => this.#send())
        return
      }
      this.#queue.shift()
      this.#queuedBytes -= first.bytes?.length ?? 0
      if (this.#queuedBytes <= mostQueuedBytes) this.#from.resume()
      if (first.bytes === undefined) this.#to.end()
      else this.#isFull = !this.#to.write(first.bytes)
    }
  }
}

export class ProxiedConnection {
  readonly #client: Socket
  readonly #server: Socket
  readonly #lanes: readonly Lane[]
  readonly #options: ConnectionOptions
  readonly closed: Promise<void>

  /** `client` has just been accepted. */
  constructor(client: Socket, to: SocketPlace, options: ConnectionOptions) {
    this.#client = client
    this.#options = options
    this.#server = connect({ ...to, allowHalfOpen: true, noDelay: true })
    const lane = (from: Socket, into: Socket, direction: Direction): Lane =>
      new Lane(from, into, { direction, options })
    this.#lanes = [
      lane(client, this.#server, 'to-acceptor'),
      lane(this.#server, client, 'to-dialer'),
    ]
    const ends = [client, this.#server].map((socket, index, both) => {
      const other = index === 0 ? this.#server : client
      return new Promise<void>((resolve) => {
        socket.on('error', () => {}) // 'close' follows
        socket.once('close', (hadError) => {
          if (hadError) other.resetAndDestroy()
          else if (both.every((one) => one.readableEnded)) other.destroySoon()
          else if (!socket.readableEnded) other.destroy()
          resolve()
        })
      })
    })
    this.closed = Promise.all(ends).then(() => {
      for (const one of this.#lanes) one.close()
    })
  }

  /** The rules have changed: the connection may be cut, or go on. */
  look(): void {
    const { rules, ends } = this.#options
    const severing = rules().find(
      (rule) =>
        isSevered(rule.fault) && !isUsedUp(rule) && concerns(rule.fault, ends, 'to-acceptor'),
    )
    if (severing !== undefined) {
      severing.fired += 1
      this.reset()
      return
    }
    const isCut = rules().some(
      ({ fault }) =>
        fault.action === 'cut' &&
        (concerns(fault, ends, 'to-acceptor') || concerns(fault, ends, 'to-dialer')),
    )
    // What a cut has kept back is lost, and the rest of the connection with it.
    if (!isCut && this.#lanes.some(({ hasLost }) => hasLost)) this.reset()
    else for (const lane of this.#lanes) lane.look()
  }

  reset(): void {
    this.#client.resetAndDestroy()
    this.#server.resetAndDestroy()
  }
}
