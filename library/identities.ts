/** Identities: the credentials of a cluster's users, signed by its authority. */
import { BACKDATE_MS, loadAuthority } from '../certs/authority.ts'
import { issue } from '../certs/pki.ts'
import type { Credential } from '../certs/pki.ts'
import { adminSubject, clientProfile } from '../certs/profiles.ts'
import type { Subject } from '../certs/subject.ts'
import { credentialsOf } from '../cluster/identity.ts'
import type { IdentityCredentials } from '../cluster/identity.ts'
import type { CredentialPem } from './cluster-form.ts'
import type { Identity } from './types.ts'

export interface Identities {
  credentialsOf(identity: Identity): IdentityCredentials
}

/**
 * Certificates are valid as long as the authority: the clock of a cluster may be advanced by years, and a restored snapshot sets it
 * back. Throws for an authority that cannot sign.
 */
export function createIdentities(authorityPem: CredentialPem): Identities {
  const authority = loadAuthority(authorityPem)
  const nowMs = Date.parse(authority.certificate.validFrom) + BACKDATE_MS
  const issued = (subject: Subject): Credential =>
    issue(authority, { profile: { ...clientProfile(subject), lifetimeMs: Infinity }, nowMs })
  return {
    credentialsOf: (identity) => {
      const source = { admin: () => issued(adminSubject), issue: issued }
      return credentialsOf(identity, source)
    },
  }
}

/** How a kubeconfig calls the user. */
export function userNameOf(identity: Identity): string {
  if (typeof identity === 'string') return identity
  return 'user' in identity ? identity.user : 'token'
}
