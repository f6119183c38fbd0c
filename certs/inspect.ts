/** Inspection: what the certificates in a PEM text say, and how long they still hold. */
import { X509Certificate } from 'node:crypto'
import { splitCertificates } from './pem.ts'
import { extendedUsageName, keyUsageNames } from './usages.ts'
import { readExtensions } from './x509.ts'

export interface CertificateReport {
  /** One attribute a line, as OpenSSL writes it: `O=system:nodes\nCN=system:node:n1`. */
  readonly subject: string
  readonly commonName: string
  readonly organizations: readonly string[]
  readonly issuer: string
  /** `DNS:localhost`, `IP Address:127.0.0.1` and the like. */
  readonly alternativeNames: readonly string[]
  /** Upstream's usage names; an unknown extended usage shows as its identifier. */
  readonly usages: readonly string[]
  readonly isAuthority: boolean
  readonly keyType: string
  /** Hexadecimal. */
  readonly serialNumber: string
  readonly fingerprint256: string
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** Negative once it has expired. */
  readonly remainingMs: number
}

/** Reports on every certificate in the text, in order. Rejects when one is malformed. */
export async function inspectCertificates(
  pem: string,
  nowMs: number,
): Promise<CertificateReport[]> {
  return await Promise.all(
    splitCertificates(pem).map(async (one) => {
      const certificate = new X509Certificate(one)
      const extensions = await readExtensions(one)
      const notAfterMs = Date.parse(certificate.validTo)
      return {
        subject: certificate.subject,
        commonName: extensions.commonName,
        organizations: extensions.organizations,
        issuer: certificate.issuer,
        alternativeNames: certificate.subjectAltName?.split(', ') ?? [],
        usages: [
          ...keyUsageNames(extensions.keyUsageFlags),
          ...extensions.extendedKeyUsages.map(extendedUsageName),
        ],
        isAuthority: extensions.isAuthority,
        keyType: certificate.publicKey.asymmetricKeyType ?? '',
        serialNumber: certificate.serialNumber,
        fingerprint256: certificate.fingerprint256,
        notBeforeMs: Date.parse(certificate.validFrom),
        notAfterMs,
        remainingMs: notAfterMs - nowMs,
      }
    }),
  )
}
