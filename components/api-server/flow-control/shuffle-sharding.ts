/** shuffle-sharding: the few queues of a flow, picked by its hash (upstream: apiserver pkg/util/shufflesharding). */
import { createHash } from 'node:crypto'

/** A number of 64 bits, the same one for the same flow. */
export function flowHash(schema: string, distinguisher: string): bigint {
  return createHash('sha256').update(`${schema}\0${distinguisher}`).digest().readBigUInt64LE()
}

/** `handSize` different numbers below `deckSize`. All numbers, if the deck is no larger than the hand. */
export function dealHand(hash: bigint, deckSize: number, handSize: number): number[] {
  const hand: number[] = []
  const remainders: number[] = []
  let rest = hash
  for (let dealt = 0; dealt < Math.min(handSize, deckSize); dealt += 1) {
    const left = BigInt(deckSize - dealt)
    const remainder = Number(rest % left)
    rest /= left
    // Skips the cards that were dealt, the newest first.
    let card = remainder
    for (let at = dealt - 1; at >= 0; at -= 1) if (card >= (remainders[at] as number)) card += 1
    remainders.push(remainder)
    hand.push(card)
  }
  return hand
}
