/** Validates a bundle of certificate authorities that verifies external servers. */
import { readBundle } from '../../x509/bundle.ts'

/** The error of a bundle; each certificate must be an authority (OIDC-025). */
export function authorityFault(pem: string): string | undefined {
  try {
    const other = readBundle(pem).find(({ x509 }) => !x509.ca)?.x509
    if (other === undefined) return undefined
    return `the certificate of ${other.subject.replaceAll('\n', ', ')} is not an authority's: its CA flag is not set`
  } catch (error) {
    return (error as Error).message
  }
}
