/** authentication: the authenticators of a running server, from its flags and its configuration file. */
import { apiGroup, labelKey, type Dialect } from '../../api/dialect.ts'
import type { Trial } from '../../api/explanations.ts'
import type { FeatureGates } from '../../api/feature-gates.ts'
import { aborted } from '../../component-base/aborted.ts'
import type { Clock } from '../../component-base/clock.ts'
import { StartError } from '../../component-base/component.ts'
import type { Files } from '../../component-base/files.ts'
import type { Log } from '../../component-base/log.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import type { AnonymousAccess } from './anonymous.ts'
import { authenticateToken, bearerTokenAuthenticator } from './bearer-token.ts'
import {
  trialsOf,
  type AuthenticationResult,
  type Authenticator,
  type TokenAuthenticator,
} from './authenticator.ts'
import { clientCertificateAuthenticator } from './client-certificate.ts'
import type { LegacyTokenUses } from './legacy-token-uses.ts'
import type { Issuers } from './oidc/issuers.ts'
import { requestHeaderAuthenticator } from './request-header.ts'
import { createServiceAccountIssuer, type ServiceAccountIssuer } from './service-account-issuer.ts'
import {
  serviceAccountKeys,
  tokenAuthenticators,
  type Credentials,
} from './token-authenticators.ts'
import { authenticateBy, type AuthenticateRequest } from './union.ts'
import type { AuthenticationConfiguration } from './configuration/authentication-configuration.ts'
import {
  openConfigurationFile,
  type ConfigurationFile,
} from '../configuration/configuration-file.ts'
import type { TrustedAuthorities } from './certificate-chain.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { Dial } from '../egress/egress-selector.ts'
import type { ApiServerOptions } from '../configuration/options.ts'

export interface Authentication {
  readonly authenticateRequest: AuthenticateRequest
  /** Answers TokenReviews. */
  readonly authenticateToken: (
    token: string,
    audiences: readonly string[],
  ) => ReturnType<typeof authenticateToken>
  /** The same, with the result of each token authenticator that was asked. */
  readonly explainToken: (
    token: string,
    audiences: readonly string[],
  ) => Promise<{ readonly result: AuthenticationResult; readonly tried: readonly Trial[] }>
  readonly apiAudiences: readonly string[]
  /** Undefined without a signing key. */
  readonly issuer: ServiceAccountIssuer | undefined
  /** Why the newest configuration file is not in use; undefined without a file. */
  readonly configFault: (() => string | undefined) | undefined
  /** Finds issuers' keys and follows the configuration file until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>
}

/** Authorities of client certificates, as the files have them now; undefined without the flag. */
export interface ClientAuthorities {
  readonly clients: (() => TrustedAuthorities) | undefined
  /** Those of authenticating proxies. */
  readonly proxies: (() => TrustedAuthorities) | undefined
}

interface AuthenticationParts {
  readonly reader: ObjectReader
  readonly clock: Clock
  readonly files: Files
  readonly dialect: Dialect
  readonly gates: FeatureGates
  readonly log: Log
  readonly metrics: Metrics
  readonly certificates: ClientAuthorities
  /** How to dial the token webhook; connections to issuers are direct. */
  readonly dial: Dial | undefined
  readonly legacyTokenUses: LegacyTokenUses
}

/** Anonymous access by the flags; on by default, unless the mode AlwaysAllow is used (AUTHN-028). */
function anonymousByFlags(options: ApiServerOptions): AnonymousAccess {
  const isOpen =
    options['authorization-config'] === undefined &&
    (options['authorization-mode'] || 'AlwaysAllow').split(',').includes('AlwaysAllow')
  return { isEnabled: options['anonymous-auth'] ?? !isOpen }
}

/** The accepted issuers of service account tokens; the first one signs. */
function issuersOf(options: ApiServerOptions, dialect: Dialect): readonly string[] {
  const given = options['service-account-issuer']
  if (given.length > 0) return given
  return [`https://${dialect.apiServerService}.default.svc.cluster.local`]
}

/** The file of --authentication-config, read and checked; undefined without one. */
async function openConfiguration(
  options: ApiServerOptions,
  parts: AuthenticationParts,
): Promise<ConfigurationFile<AuthenticationConfiguration> | undefined> {
  const path = options['authentication-config'] ?? ''
  if (path === '') return undefined
  if (!parts.gates.StructuredAuthenticationConfiguration) {
    throw new StartError(
      'set --feature-gates=StructuredAuthenticationConfiguration=true to use authentication-config file',
    )
  }
  const { hasOidcFlags } = await import('./oidc/oidc-flags.ts')
  if (hasOidcFlags(options)) {
    throw new StartError('authentication-config file and oidc-* flags are mutually exclusive')
  }
  const { parseAuthenticationConfiguration } =
    await import('./configuration/authentication-configuration.ts')
  const parse = (content: string): AuthenticationConfiguration => {
    const configuration = parseAuthenticationConfiguration(content, {
      dialect: parts.dialect,
      disallowedIssuers: issuersOf(options, parts.dialect),
    })
    if (configuration.anonymous !== undefined && options['anonymous-auth'] !== undefined) {
      throw new Error(
        '--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
      )
    }
    return configuration
  }
  return await openConfigurationFile({ flag: 'authentication-config', path }, parse)
}

/** OpenID Connect issuers, if a file or flags name any. Only then is their code loaded. */
async function openIssuers(
  options: ApiServerOptions,
  {
    parts,
    configuration,
  }: {
    parts: AuthenticationParts
    configuration: AuthenticationConfiguration | undefined
  },
): Promise<Issuers | undefined> {
  const { oidcFromFlags } = await import('./oidc/oidc-flags.ts')
  const flags = oidcFromFlags(options)
  if (flags === undefined && configuration === undefined) return undefined
  const { createIssuers } = await import('./oidc/issuers.ts')
  const { clock, log, dialect } = parts
  const credentialIdKey = labelKey(dialect, 'authentication', 'credential-id')
  const issuers = createIssuers({ credentialIdKey, clock, log })
  if (flags === undefined) issuers.set(configuration?.jwt ?? [])
  else issuers.set([flags.config], flags.algorithms)
  return issuers
}

/** Authenticators of whole requests: proxies and client certificates. */
function requestAuthenticators(
  options: ApiServerOptions,
  parts: AuthenticationParts,
): Authenticator[] {
  const authenticators: Authenticator[] = []
  const { clients, proxies } = parts.certificates
  if (proxies !== undefined && options['requestheader-username-headers'].length > 0) {
    authenticators.push(
      requestHeaderAuthenticator({
        authorities: proxies,
        allowedNames: options['requestheader-allowed-names'],
        usernameHeaders: options['requestheader-username-headers'],
        uidHeaders: options['requestheader-uid-headers'],
        groupHeaders: options['requestheader-group-headers'],
        extraPrefixes: options['requestheader-extra-headers-prefix'],
        clock: parts.clock,
      }),
    )
  }
  if (clients !== undefined) {
    authenticators.push(clientCertificateAuthenticator({ authorities: clients, ...parts }))
  }
  return authenticators
}

/** The parts of the configuration that a reload replaces: issuers and anonymous access. */
function reloadableAccess(options: ApiServerOptions, issuers: Issuers | undefined) {
  let anonymous = anonymousByFlags(options)
  return {
    anonymous: () => anonymous,
    use(newest: AuthenticationConfiguration): void {
      issuers?.set(newest.jwt)
      const { enabled: isEnabled, paths } = newest.anonymous ?? {}
      anonymous =
        isEnabled === undefined
          ? anonymousByFlags(options)
          : { isEnabled, ...(paths === undefined ? {} : { paths }) }
    },
  }
}

function tokenIssuer(
  { keys, issuerNames, apiAudiences }: Credentials,
  parts: AuthenticationParts,
): ServiceAccountIssuer | undefined {
  const { signing: signingKey, verification: verificationKeys } = keys
  if (signingKey === undefined) return undefined
  const issuer = issuerNames[0] ?? ''
  return createServiceAccountIssuer({
    issuer,
    signingKey,
    verificationKeys,
    apiAudiences,
    ...parts,
  })
}

/** TokenReviews, plain and explained. */
function tokenReviews(
  tokens: readonly TokenAuthenticator[],
): Pick<Authentication, 'authenticateToken' | 'explainToken'> {
  return {
    authenticateToken: (token, audiences) => authenticateToken(tokens, token, audiences),
    explainToken: async (token, audiences) => {
      const passed: AuthenticationResult[] = []
      const result = await authenticateToken(tokens, token, audiences, passed)
      const all = result.kind === 'user' ? [...passed, result] : passed
      return { result, tried: trialsOf(tokens, all) }
    },
  }
}

/** Reads every file that the flags name. Rejects with StartError when the operator must fix a flag or file. */
export async function createAuthentication(
  options: ApiServerOptions,
  parts: AuthenticationParts,
): Promise<Authentication> {
  const { clock, log, metrics, gates, dialect } = parts
  if (options['requestheader-uid-headers'].length > 0 && !gates.RemoteRequestHeaderUID) {
    throw new StartError(
      '--requestheader-uid-headers requires the RemoteRequestHeaderUID feature to be enabled',
    )
  }
  const configuration = await openConfiguration(options, parts)
  const issuerNames = issuersOf(options, dialect)
  const apiAudiences = options['api-audiences'].length > 0 ? options['api-audiences'] : issuerNames
  const keys = serviceAccountKeys(options, parts.files)
  const issuers = await openIssuers(options, {
    parts,
    configuration: configuration?.initial,
  })
  const credentials = { keys, issuerNames, apiAudiences, issuers }
  const tokens = await tokenAuthenticators(options, { parts, credentials })
  const byRequest = requestAuthenticators(options, parts)
  const access = reloadableAccess(options, issuers)
  if (configuration !== undefined) access.use(configuration.initial)

  return {
    authenticateRequest: authenticateBy(
      [...byRequest, bearerTokenAuthenticator(tokens, dialect)],
      access.anonymous,
    ),
    apiAudiences,
    ...tokenReviews(tokens),
    issuer: tokenIssuer(credentials, parts),
    configFault: configuration?.fault,
    async run(signal) {
      const following = configuration?.follow({
        clock,
        log,
        metrics,
        subsystem: 'authentication',
        serverId: apiGroup(dialect, 'authentication') + issuerNames.join(),
        signal,
        use: (newest) => access.use(newest),
      })
      await Promise.all([issuers?.run(signal), following, aborted(signal)])
    },
  }
}
