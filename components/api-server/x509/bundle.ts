/** Bundles of certificates in PEM. */
import { readCertificate, type Certificate } from './certificate.ts'

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

const blocksOf = (pem: string): Buffer[] =>
  (pem.match(block) ?? []).map((text) => Buffer.from(text))

/** All certificates of the text. Throws when there is none or one is malformed (client-go: ParseCertsPEM). */
export function readBundle(pem: string): readonly Certificate[] {
  const blocks = blocksOf(pem)
  if (blocks.length === 0) {
    throw new Error('data does not contain any valid RSA or ECDSA certificates')
  }
  return blocks.map(readCertificate)
}

/** The certificates of the text that can be read (Go: CertPool.AppendCertsFromPEM). */
export function readableCertificates(pem: string): readonly Certificate[] {
  return blocksOf(pem).flatMap((text) => {
    try {
      return [readCertificate(text)]
    } catch {
      // A malformed certificate is not added to the pool.
      return []
    }
  })
}
