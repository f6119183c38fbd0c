/** authentication: the authenticators of a running server, from its flags. */
import type { Dialect } from '../api/dialect.ts'
import type { Clock } from '../component-base/clock.ts'
import { StartError } from '../component-base/component.ts'
import { authenticateToken, bearerTokenAuthenticator } from './authn/bearer-token.ts'
import type { Authenticator, TokenAuthenticator } from './authn/authenticator.ts'
import { bootstrapTokenAuthenticator } from './authn/bootstrap-token.ts'
import { parseAuthorities } from './authn/certificate-chain.ts'
import { clientCertificateAuthenticator } from './authn/client-certificate.ts'
import { requestHeaderAuthenticator } from './authn/request-header.ts'
import {
  createServiceAccountIssuer,
  type ServiceAccountIssuer,
} from './authn/service-account-issuer.ts'
import { parseSigningKey, parseVerificationKeys } from './authn/service-account-keys.ts'
import { serviceAccountTokenAuthenticator } from './authn/service-account-token.ts'
import { authenticateBy, type AuthenticateRequest } from './authn/union.ts'
import { readFlagFile } from './flag-files.ts'
import type { ObjectReader } from './object-reader.ts'
import type { ApiServerOptions } from './options.ts'

export interface Authentication {
  readonly authenticateRequest: AuthenticateRequest
  /** What a TokenReview asks. */
  readonly authenticateToken: (
    token: string,
    audiences: readonly string[],
  ) => ReturnType<typeof authenticateToken>
  readonly apiAudiences: readonly string[]
  /** Undefined without a signing key. */
  readonly issuer: ServiceAccountIssuer | undefined
}

function parsed<T>(name: string, path: string, parse: (text: string) => T): T {
  const text = readFlagFile(name, path)
  try {
    return parse(text)
  } catch (error) {
    throw new StartError(`--${name}: ${path}: ${(error as Error).message}`, error)
  }
}

export function createAuthentication(
  options: ApiServerOptions,
  parts: { reader: ObjectReader; clock: Clock; dialect: Dialect },
): Authentication {
  const { clock } = parts
  const authenticators: Authenticator[] = []
  const proxyCa = options['requestheader-client-ca-file']
  if (proxyCa !== undefined && options['requestheader-username-headers'].length > 0) {
    const authorities = parsed('requestheader-client-ca-file', proxyCa, parseAuthorities)
    authenticators.push(
      requestHeaderAuthenticator({
        authorities: () => authorities,
        allowedNames: options['requestheader-allowed-names'],
        usernameHeaders: options['requestheader-username-headers'],
        groupHeaders: options['requestheader-group-headers'],
        extraPrefixes: options['requestheader-extra-headers-prefix'],
        clock,
      }),
    )
  }
  const clientCa = options['client-ca-file']
  if (clientCa !== undefined) {
    const authorities = parsed('client-ca-file', clientCa, parseAuthorities)
    authenticators.push(
      clientCertificateAuthenticator({ authorities: () => authorities, ...parts }),
    )
  }

  const tokens: TokenAuthenticator[] = []
  const issuerName = options['service-account-issuer']
  const apiAudiences = options['api-audiences'].length > 0 ? options['api-audiences'] : [issuerName]
  const keys = options['service-account-key-file'].flatMap((path) =>
    parsed('service-account-key-file', path, parseVerificationKeys),
  )
  const signingFile = options['service-account-signing-key-file']
  const signingKey =
    signingFile === undefined
      ? undefined
      : parsed('service-account-signing-key-file', signingFile, parseSigningKey)
  if (signingKey !== undefined && keys.length === 0) keys.push(signingKey.public)
  if (keys.length > 0) {
    tokens.push(
      serviceAccountTokenAuthenticator({
        keys,
        issuers: [issuerName],
        apiAudiences,
        lookup: options['service-account-lookup'],
        ...parts,
      }),
    )
  }
  if (options['enable-bootstrap-token-auth']) tokens.push(bootstrapTokenAuthenticator(parts))
  authenticators.push(bearerTokenAuthenticator(tokens, parts.dialect))

  return {
    authenticateRequest: authenticateBy(authenticators, { isEnabled: options['anonymous-auth'] }),
    apiAudiences,
    authenticateToken: (token, audiences) => authenticateToken(tokens, token, audiences),
    issuer:
      signingKey === undefined
        ? undefined
        : createServiceAccountIssuer({
            issuer: issuerName,
            signingKey,
            verificationKeys: keys,
            apiAudiences,
            ...parts,
          }),
  }
}
