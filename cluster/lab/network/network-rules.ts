/** Network rules: what the faults of the network mean for the messages of one connection in one direction. Pure. */
import type { NetworkFault } from '../fault-spec.ts'

/** An active fault of the network, and how often it has fired. */
export interface NetworkRule {
  readonly name: string
  readonly fault: NetworkFault
  readonly times: number | undefined
  fired: number
}

/** The two ends of a connection, each with all names it has: `api-server-2` is an `api-server`. */
export interface Ends {
  readonly dialer: readonly string[]
  readonly acceptor: readonly string[]
}

export type Direction = 'to-acceptor' | 'to-dialer'

export function isUsedUp({ times, fired }: NetworkRule): boolean {
  return times !== undefined && fired >= times
}

/** Whether the fault concerns messages in this direction. */
export function concerns(fault: NetworkFault, ends: Ends, direction: Direction): boolean {
  const [sender, receiver] =
    direction === 'to-acceptor' ? [ends.dialer, ends.acceptor] : [ends.acceptor, ends.dialer]
  const { from, to } = fault
  if (sender.includes(from) && receiver.includes(to)) return true
  return fault.direction !== 'one-way' && sender.includes(to) && receiver.includes(from)
}

/** Connections are refused and reset: the cut is known to both ends. */
export function isSevered({ action, direction }: NetworkFault): boolean {
  return action === 'cut' && direction !== 'one-way'
}

/** Drops everything in this direction, and leaves the connection open. */
export function isSilent({ action }: NetworkFault): boolean {
  return action === 'half-open' || action === 'cut'
}

/** As much as one packet of Ethernet carries. */
const segmentBytes = 1460
/** Linux sends again after this time at the earliest, and waits twice as long each time (RFC 6298, TCP_RTO_MIN). */
const resendMs = 200
const mostResends = 6

/** How much later a chunk arrives. `random` draws from [0, 1). */
export function delayOf(
  { action }: NetworkFault,
  { bytes, random }: { readonly bytes: number; readonly random: () => number },
): number {
  if (typeof action === 'string') return 0
  if ('delayMs' in action) {
    const { delayMs, jitterMs = 0 } = action
    return Math.max(0, delayMs + jitterMs * (2 * random() - 1))
  }
  if ('bytesPerSecond' in action) return (bytes / action.bytesPerSecond) * 1000
  const segments = Math.ceil(bytes / segmentBytes)
  const isLost = (of: number): boolean => random() < 1 - (1 - action.loss) ** of
  let delayMs = 0
  // What is sent again is one segment, which can be lost again.
  for (let tries = 0; tries < mostResends && isLost(tries === 0 ? segments : 1); tries += 1)
    delayMs += resendMs * 2 ** tries
  return delayMs
}

/** A slow link sends one chunk after the other; those that are delayed travel at the same time. */
export function isInTurn({ action }: NetworkFault): boolean {
  return typeof action !== 'string' && 'bytesPerSecond' in action
}
