/** The `--oidc-*` flags as the configuration of one issuer (spec: "OIDC flags"). */
import { readFlagFile } from '../../../component-base/flag-file.ts'
import { StartError } from '../../../component-base/component.ts'
import type { JwtAuthenticatorConfig } from '../configuration/authentication-configuration.ts'
import { authorityFault } from '../configuration/authority-fault.ts'
import type { ApiServerOptions } from '../../configuration/options.ts'
import { signingAlgorithms } from './signing-algorithms.ts'

export interface OidcFromFlags {
  readonly config: JwtAuthenticatorConfig
  readonly algorithms: readonly string[]
}

/** Whether any of the flags is given. */
export function hasOidcFlags(options: ApiServerOptions): boolean {
  return Object.entries(options).some(
    ([name, value]) =>
      name.startsWith('oidc-') &&
      name !== 'oidc-username-claim' &&
      value !== undefined &&
      value !== '' &&
      (typeof value !== 'object' || Object.keys(value).length > 0),
  )
}

function requiredClaims(entries: readonly string[]): { claim: string; requiredValue: string }[] {
  return entries.map((entry) => {
    const at = entry.indexOf('=')
    if (at <= 0) {
      throw new StartError(
        `--oidc-required-claim: ${JSON.stringify(entry)} must be formatted as key=value`,
      )
    }
    return { claim: entry.slice(0, at).trim(), requiredValue: entry.slice(at + 1).trim() }
  })
}

function authorityOf(options: ApiServerOptions): string | undefined {
  const path = options['oidc-ca-file']
  if (path === undefined || path === '') return undefined
  const pem = readFlagFile('oidc-ca-file', path)
  const fault = authorityFault(pem)
  if (fault !== undefined) throw new StartError(`--oidc-ca-file: ${path}: ${fault}`)
  return pem
}

/** Undefined when no flag is given; throws StartError when they cannot be combined. */
export function oidcFromFlags(options: ApiServerOptions): OidcFromFlags | undefined {
  if (!hasOidcFlags(options)) return undefined
  const issuerUrl = options['oidc-issuer-url'] ?? ''
  const clientId = options['oidc-client-id'] ?? ''
  if (issuerUrl === '' || clientId === '') {
    throw new StartError(
      'oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set',
    )
  }
  if (!issuerUrl.startsWith('https://') || !URL.canParse(issuerUrl)) {
    throw new StartError(
      `--oidc-issuer-url: ${JSON.stringify(issuerUrl)}: URL scheme must be https`,
    )
  }
  const chosen = options['oidc-signing-algs'] ?? []
  const algorithms = chosen.length > 0 ? chosen : ['RS256']
  const unknown = algorithms.find((name) => !signingAlgorithms.includes(name as 'RS256'))
  if (unknown !== undefined) {
    throw new StartError(
      `--oidc-signing-algs: unsupported signing algorithm ${JSON.stringify(unknown)}; known are ${signingAlgorithms.join(', ')}`,
    )
  }
  const claim = options['oidc-username-claim'] || 'sub'
  const given = options['oidc-username-prefix'] ?? ''
  const standard = claim === 'email' ? '' : `${issuerUrl}#`
  const prefix = given === '-' ? '' : given || standard
  const groupsClaim = options['oidc-groups-claim'] ?? ''
  const groupsPrefix = options['oidc-groups-prefix'] ?? ''
  if (groupsClaim === '' && groupsPrefix !== '') {
    throw new StartError('--oidc-groups-prefix needs --oidc-groups-claim')
  }
  return {
    algorithms,
    config: {
      issuerUrl,
      discoveryUrl: undefined,
      certificateAuthority: authorityOf(options),
      audiences: [clientId],
      claimRules: requiredClaims(options['oidc-required-claim']),
      username: { claim, prefix },
      groups: groupsClaim === '' ? undefined : { claim: groupsClaim, prefix: groupsPrefix },
      uid: undefined,
      extra: [],
      userRules: [],
    },
  }
}
