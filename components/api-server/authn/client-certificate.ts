/** Client certificates: the common name is the user, each organization a group (upstream: authentication/request/x509). */
import type { X509Certificate } from 'node:crypto'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { HttpRequest, PeerCertificate, UserInfo } from '../request.ts'
import type { AuthenticationResult, Authenticator } from './authenticator.ts'
import type { TrustedAuthorities } from './certificate-chain.ts'
import { verifyClientChain } from './certificate-chain.ts'

const none: AuthenticationResult = { kind: 'none' }

function values(field: string | string[] | undefined): string[] {
  return field === undefined ? [] : Array.isArray(field) ? field : [field]
}

/** Undefined when the certificate names nobody. */
function userOf(leaf: X509Certificate, dialect: Dialect): UserInfo | undefined {
  // The text form of the subject joins its parts with newlines; this one keeps each value whole.
  const subject = leaf.toLegacyObject().subject as unknown as Record<string, string | string[]>
  const name = values(subject['CN']).at(-1)
  if (name === undefined || name === '') return undefined
  const fingerprint = leaf.fingerprint256.replaceAll(':', '').toLowerCase()
  return {
    name,
    groups: values(subject['O']),
    extra: {
      [labelKey(dialect, 'authentication', 'credential-id')]: [`X509SHA256=${fingerprint}`],
    },
  }
}

interface Verdict {
  readonly authorities: TrustedAuthorities
  readonly result: AuthenticationResult
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/**
 * Authenticates by the connection's certificate. `authorities` is asked on every request, so that a reloaded file takes
 * effect; it must return the same array while nothing changed. A verdict is kept per connection while it can hold.
 */
export function clientCertificateAuthenticator(options: {
  authorities: () => TrustedAuthorities
  clock: Clock
  dialect: Dialect
}): Authenticator {
  const verdicts = new WeakMap<PeerCertificate, Verdict>()

  function judge(peer: PeerCertificate, authorities: TrustedAuthorities, nowMs: number): Verdict {
    const chain = verifyClientChain(peer, authorities, nowMs)
    if (!chain.ok) {
      const result: AuthenticationResult = { kind: 'failed', why: chain.why }
      // An instant: a certificate that is not valid yet must be looked at again.
      return { authorities, result, notBeforeMs: nowMs, notAfterMs: nowMs }
    }
    const user = userOf(chain.leaf, options.dialect)
    const { notBeforeMs, notAfterMs } = chain
    const result: AuthenticationResult = user === undefined ? none : { kind: 'user', user }
    return { authorities, result, notBeforeMs, notAfterMs }
  }

  return {
    name: 'x509',
    authenticate({ peer }: HttpRequest): AuthenticationResult {
      if (peer === undefined) return none
      const authorities = options.authorities()
      const nowMs = options.clock.now()
      let verdict = verdicts.get(peer)
      if (
        verdict?.authorities !== authorities ||
        nowMs < verdict.notBeforeMs ||
        nowMs > verdict.notAfterMs
      ) {
        verdict = judge(peer, authorities, nowMs)
        verdicts.set(peer, verdict)
      }
      return verdict.result
    },
  }
}
