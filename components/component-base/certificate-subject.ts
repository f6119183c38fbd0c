/** Whom a certificate names. Values are whole: the text form of a subject joins its parts with newlines. */
import type { X509Certificate } from 'node:crypto'
// Has to be loaded first: toLegacyObject() loads a part of it, after which Node 24.21 can make no TLS connection.
import 'node:tls'

export interface CertificateSubject {
  /** The last one. Undefined when it has none, or an empty one. */
  readonly commonName: string | undefined
  readonly organizations: readonly string[]
}

export function subjectOf(certificate: X509Certificate): CertificateSubject {
  const subject = certificate.toLegacyObject().subject as unknown as Record<
    string,
    string | string[] | undefined
  >
  const values = (part: string) => [subject[part] ?? []].flat()
  return { commonName: values('CN').at(-1) || undefined, organizations: values('O') }
}
