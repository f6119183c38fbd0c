/** The one place that uses the X.509 library: it reads certificates in full, for inspection. Loaded when first needed. */
import type { X509Certificate } from '@peculiar/x509'

/** The parts of a certificate that node:crypto does not show. */
export interface CertificateExtensions {
  /** Flag word of the KeyUsage extension, bit n for usage n; 0 without the extension. */
  readonly keyUsageFlags: number
  /** Object identifiers of the extended usages. */
  readonly extendedKeyUsages: readonly string[]
  readonly isAuthority: boolean
  readonly pathLength: number | undefined
  readonly organizations: readonly string[]
  readonly commonName: string
}

/** Reads one certificate in PEM. Rejects when it is malformed. */
export async function readExtensions(pem: string): Promise<CertificateExtensions> {
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const certificate: X509Certificate = new x509.X509Certificate(pem)
  const keyUsage = certificate.getExtension(x509.KeyUsagesExtension)
  const extended = certificate.getExtension(x509.ExtendedKeyUsageExtension)
  const constraints = certificate.getExtension(x509.BasicConstraintsExtension)
  return {
    keyUsageFlags: keyUsage?.usages ?? 0,
    extendedKeyUsages: (extended?.usages ?? []).map(String),
    isAuthority: constraints?.ca ?? false,
    pathLength: constraints?.pathLength,
    organizations: certificate.subjectName.getField('O'),
    commonName: certificate.subjectName.getField('CN').at(-1) ?? '',
  }
}
