/** Identity: who a client of a cluster is, and the credentials that say so. */
import type { Credential } from '../certs/pki.ts'
import type { Subject } from '../certs/subject.ts'

/** A user needs nothing in the cluster but what RBAC says about it. */
export type Identity =
  | 'admin'
  | 'anonymous'
  | { readonly token: string }
  | { readonly user: string; readonly groups?: readonly string[] | undefined }

/** None: the anonymous user. */
export type IdentityCredentials =
  { readonly cert: string; readonly key: string } | { readonly token: string } | undefined

/** Where the certificates of a cluster's users come from. */
export interface CertificateSource {
  /** That of the cluster's administrator. */
  admin(): Credential
  /** A new one, signed by the authority that the API server trusts. */
  issue(subject: Subject): Credential
}

export function credentialsOf(identity: Identity, source: CertificateSource): IdentityCredentials {
  if (identity === 'anonymous') return undefined
  if (typeof identity === 'object' && 'token' in identity) return { token: identity.token }
  const { certificatePem, privateKeyPem } =
    identity === 'admin'
      ? source.admin()
      : source.issue({ commonName: identity.user, organizations: identity.groups ?? [] })
  return { cert: certificatePem, key: privateKeyPem }
}
