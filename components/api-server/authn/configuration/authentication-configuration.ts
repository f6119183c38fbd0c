/**
 * AuthenticationConfiguration: token issuers, their claim validation and mapping, and anonymous access (upstream:
 * apiserver/pkg/apis/apiserver, and its validation). Expressions are compiled.
 */
import { apiGroup, type Dialect } from '../../../api/dialect.ts'
import { invalidWithoutValue, tooMany } from '../../../machinery/validation/field-errors.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { CelProgram } from '../../../cel/cel.ts'
import {
  document,
  flag,
  list,
  struct,
  text,
} from '../../../machinery/configuration/config-schema.ts'
import { JwtAuthenticatorReader } from './jwt-authenticator-reader.ts'
import {
  readConfiguration,
  refuseFieldErrors,
} from '../../../machinery/configuration/read-configuration.ts'

/** The most issuers, as upstream. */
const mostIssuers = 64

const claimOrExpression = struct('ClaimOrExpression', { claim: text, expression: text })
const prefixed = struct('PrefixedClaimOrExpression', {
  claim: text,
  prefix: text,
  expression: text,
})
const schema = document('AuthenticationConfiguration', {
  jwt: list(
    struct('JWTAuthenticator', {
      issuer: struct('Issuer', {
        url: text,
        discoveryURL: text,
        certificateAuthority: text,
        audiences: list(text),
        audienceMatchPolicy: text,
      }),
      claimValidationRules: list(
        struct('ClaimValidationRule', {
          claim: text,
          requiredValue: text,
          expression: text,
          message: text,
        }),
      ),
      claimMappings: struct('ClaimMappings', {
        username: prefixed,
        groups: prefixed,
        uid: claimOrExpression,
        extra: list(struct('ExtraMapping', { key: text, valueExpression: text })),
      }),
      userValidationRules: list(struct('UserValidationRule', { expression: text, message: text })),
    }),
  ),
  anonymous: struct('AnonymousAuthConfig', {
    enabled: flag,
    conditions: list(struct('AnonymousAuthCondition', { path: text })),
  }),
})

export interface RawMapping {
  readonly claim?: string
  readonly prefix?: string
  readonly expression?: string
}

export interface RawAuthenticator {
  readonly issuer?: {
    readonly url?: string
    readonly discoveryURL?: string
    readonly certificateAuthority?: string
    readonly audiences?: readonly string[]
    readonly audienceMatchPolicy?: string
  }
  readonly claimValidationRules?: readonly {
    readonly claim?: string
    readonly requiredValue?: string
    readonly expression?: string
    readonly message?: string
  }[]
  readonly claimMappings?: {
    readonly username?: RawMapping
    readonly groups?: RawMapping
    readonly uid?: RawMapping
    readonly extra?: readonly { readonly key?: string; readonly valueExpression?: string }[]
  }
  readonly userValidationRules?: readonly {
    readonly expression?: string
    readonly message?: string
  }[]
}

interface RawConfiguration {
  readonly jwt?: readonly RawAuthenticator[]
  readonly anonymous?: {
    readonly enabled?: boolean
    readonly conditions?: readonly { readonly path?: string }[]
  }
}

/** The source of a value: a claim with a prefix, or an expression over `claims`. */
export type ClaimSource =
  { readonly claim: string; readonly prefix: string } | { readonly program: CelProgram }

export type ClaimRule =
  | { readonly claim: string; readonly requiredValue: string }
  | { readonly program: CelProgram; readonly message: string }

/** One issuer, and the mapping of its tokens. */
export interface JwtAuthenticatorConfig {
  readonly issuerUrl: string
  readonly discoveryUrl: string | undefined
  /** PEM; undefined: the host's own. */
  readonly certificateAuthority: string | undefined
  readonly audiences: readonly string[]
  readonly claimRules: readonly ClaimRule[]
  readonly username: ClaimSource
  readonly groups: ClaimSource | undefined
  readonly uid: ClaimSource | undefined
  readonly extra: readonly { readonly key: string; readonly program: CelProgram }[]
  readonly userRules: readonly { readonly program: CelProgram; readonly message: string }[]
}

export interface AuthenticationConfiguration {
  readonly jwt: readonly JwtAuthenticatorConfig[]
  /** Undefined: by the flags. */
  readonly anonymous: { readonly enabled: boolean; readonly paths?: readonly string[] } | undefined
}

/** Reads and checks the file's text. Throws ConfigurationError. `disallowedIssuers` are this server's own. */
export function parseAuthenticationConfiguration(
  source: string,
  options: { dialect: Dialect; disallowedIssuers: readonly string[] },
): AuthenticationConfiguration {
  const { dialect } = options
  const raw = readConfiguration<RawConfiguration>(source, {
    kind: 'AuthenticationConfiguration',
    group: apiGroup(dialect, 'apiserver.config'),
    versions: ['v1beta1', 'v1alpha1'],
    schema,
  })
  const errors: FieldError[] = []
  const jwt = raw.jwt ?? []
  if (jwt.length > mostIssuers) errors.push(tooMany('jwt', jwt.length, mostIssuers))
  const seen = { urls: new Set<string>(), discoveryUrls: new Set<string>() }
  const authenticators = jwt.map((one, at) =>
    new JwtAuthenticatorReader(one, `jwt[${at}]`, { errors, seen, ...options }).read(),
  )
  const anonymous = anonymousOf(raw, errors)
  refuseFieldErrors(errors)
  return { jwt: authenticators.filter((one) => one !== undefined), anonymous }
}

function anonymousOf(
  { anonymous }: RawConfiguration,
  errors: FieldError[],
): AuthenticationConfiguration['anonymous'] {
  if (anonymous === undefined) return undefined
  const { enabled = false, conditions = [] } = anonymous
  if (!enabled && conditions.length > 0) {
    errors.push(
      invalidWithoutValue(
        'anonymous.conditions',
        'enabled should be set to true when conditions are defined',
      ),
    )
  }
  const paths = conditions.map(({ path = '' }) => path)
  return paths.length === 0 ? { enabled } : { enabled, paths }
}
