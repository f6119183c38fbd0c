/** What is wrong with a bundle of certificates that servers outside of the cluster are checked against. */
import { parseAuthorities } from '../authn/certificate-chain.ts'

/** What is wrong with a bundle of authorities; each must be one (OIDC-025). */
export function authorityFault(pem: string): string | undefined {
  try {
    const other = parseAuthorities(pem).find(({ ca }) => !ca)
    if (other === undefined) return undefined
    return `the certificate of ${other.subject.replaceAll('\n', ', ')} is not an authority's: its CA flag is not set`
  } catch (error) {
    return (error as Error).message
  }
}
