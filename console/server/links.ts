/** Link keys: each opens the console once (`cluster/console-link.ts` makes them). */
import { timingSafeEqual } from 'node:crypto'
import { linkSignature } from '../../cluster/console-link.ts'
import type { Clock } from '../../components/component-base/clock.ts'

/** More links than anybody opens in ten minutes. */
const mostUsed = 1000

export interface LinkKeys {
  /** True once for each key that was made with the secret and still holds. */
  redeem(key: string): boolean
}

export function createLinkKeys(secret: string, clock: Pick<Clock, 'now'>): LinkKeys {
  /** Key -> until when it would hold. */
  const used = new Map<string, number>()
  return {
    redeem: (key) => {
      const [until = '', nonce = '', signature = '', ...more] = key.slice(0, 200).split('.')
      const given = Buffer.from(signature, 'base64url')
      const wanted = linkSignature(secret, `${until}.${nonce}`)
      if (more.length > 0 || given.length !== wanted.length || !timingSafeEqual(given, wanted))
        return false
      const untilMs = Number.parseInt(until, 36)
      const nowMs = clock.now()
      for (const [one, endMs] of used) if (endMs <= nowMs) used.delete(one)
      // The nonce, not the text: the last character of base64url has spare bits.
      if (!(untilMs > nowMs) || used.has(nonce) || used.size >= mostUsed) return false
      used.set(nonce, untilMs)
      return true
    },
  }
}
