/** issuer-documents: what a service account issuer publishes, for others that verify its tokens. */
import type { ServiceAccountIssuer } from './service-account-issuer.ts'

/** The document at `/.well-known/openid-configuration` or `/openid/v1/jwks`; undefined without an issuer. */
export function issuerDocuments(
  issuer: ServiceAccountIssuer | undefined,
  address: () => string,
): (path: string) => unknown {
  return (path) => {
    if (issuer === undefined) return undefined
    if (path === '/openid/v1/jwks') return issuer.jwks()
    return issuer.openidConfiguration(`https://${address()}/openid/v1/jwks`)
  }
}
