/** Bundles of certificates in PEM. */
import { decodePem } from '../../../certs/pem.ts'
import { readCertificate, type Certificate } from './certificate.ts'

/** The blocks that hold certificates; those with headers do not count. */
const blocksOf = (pem: string): Buffer[] =>
  decodePem(pem)
    .filter(({ label, hasHeaders }) => label === 'CERTIFICATE' && !hasHeaders)
    .map(({ der }) => der)

/** All certificates of the text. Throws if it has no certificate or one is malformed (client-go: ParseCertsPEM). */
export function readBundle(pem: string): readonly Certificate[] {
  const blocks = blocksOf(pem)
  if (blocks.length === 0) {
    throw new Error('data does not contain any valid RSA or ECDSA certificates')
  }
  return blocks.map(readCertificate)
}

/** The certificates of the text that can be read (Go: CertPool.AppendCertsFromPEM). */
export function readableCertificates(pem: string): readonly Certificate[] {
  return blocksOf(pem).flatMap((der) => {
    try {
      return [readCertificate(der)]
    } catch {
      // A malformed certificate is not added to the pool.
      return []
    }
  })
}
