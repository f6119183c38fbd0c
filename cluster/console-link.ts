/**
 * Links to a console: each holds a key that opens it once. A key says until when it holds, and is signed with a secret that the console keeps in the
 * state directory, so that the command line makes links for a console that runs.
 */
import { createHmac } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { Clock } from '../components/component-base/clock.ts'

const holdsMs = 10 * 60_000

/** The signature of a key's content. */
export function linkSignature(secret: string, content: string): Buffer {
  return createHmac('sha256', secret).update(content).digest()
}

/** A new key: `until.nonce.signature`. It holds for ten minutes. */
function createLinkKey(secret: string, clock: Pick<Clock, 'now' | 'randomBytes'>): string {
  const until = (clock.now() + holdsMs).toString(36)
  const content = `${until}.${clock.randomBytes(12).toString('base64url')}`
  return `${content}.${linkSignature(secret, content).toString('base64url')}`
}

/** The URL that opens the console at `host` and `port` in one browser. */
export function createConsoleLink(
  at: { readonly host: string; readonly port: number; readonly secret: string },
  clock: Pick<Clock, 'now' | 'randomBytes'>,
): string {
  const host = isIPv6(at.host) ? `[${at.host}]` : at.host
  return `http://${host}:${at.port}/open?key=${createLinkKey(at.secret, clock)}`
}
