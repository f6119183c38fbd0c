/** Detached JWS (RFC 7515, appendix F) with HS256: the signature of cluster-info that a token's holder can check. */
import { createHmac } from 'node:crypto'

/** `header..signature` over the payload, whose place stays empty; `kid` names the key. */
export function signDetached(payload: string, kid: string, secret: string): string {
  const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid })).toString('base64url')
  const body = Buffer.from(payload).toString('base64url')
  const signature = createHmac('sha256', secret).update(`${header}.${body}`).digest('base64url')
  return `${header}..${signature}`
}
