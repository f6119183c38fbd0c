/** Client certificates: the common name is the user, each organization a group (upstream: authentication/request/x509). */
import type { X509Certificate } from 'node:crypto'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import { subjectOf } from '../../component-base/certificate-subject.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { HttpRequest, UserInfo } from '../request/request.ts'
import type { AuthenticationResult, Authenticator } from './authenticator.ts'
import type { TrustedAuthorities } from './certificate-chain.ts'
import { createChainVerifier } from './certificate-chain.ts'

const none: AuthenticationResult = { kind: 'none', why: 'no client certificate' }
const nameless: AuthenticationResult = {
  kind: 'none',
  why: 'the certificate has no common name',
}

/** Undefined when the certificate has no common name. */
function userOf(leaf: X509Certificate, dialect: Dialect): UserInfo | undefined {
  const { commonName: name, organizations: groups } = subjectOf(leaf)
  if (name === undefined) return undefined
  const fingerprint = leaf.fingerprint256.replaceAll(':', '').toLowerCase()
  return {
    name,
    groups,
    extra: {
      [labelKey(dialect, 'authentication', 'credential-id')]: [`X509SHA256=${fingerprint}`],
    },
  }
}

/** Authenticates by the connection's certificate. `authorities` as for createChainVerifier. */
export function clientCertificateAuthenticator(options: {
  authorities: () => TrustedAuthorities
  clock: Clock
  dialect: Dialect
}): Authenticator {
  const verify = createChainVerifier(options)
  const results = new WeakMap<ReturnType<typeof verify>, AuthenticationResult>()
  return {
    name: 'x509',
    authenticate({ peer }: HttpRequest): AuthenticationResult {
      if (peer === undefined) return none
      const chain = verify(peer)
      if (!chain.ok) return { kind: 'failed', why: chain.why }
      const known = results.get(chain)
      if (known !== undefined) return known
      const user = userOf(chain.leaf, options.dialect)
      const result: AuthenticationResult = user === undefined ? nameless : { kind: 'user', user }
      results.set(chain, result)
      return result
    },
  }
}
