/**
 * Distributed claims: groups that are not in the token, which names an endpoint to fetch them from (OpenID Connect Core 5.6.2;
 * upstream: token/oidc claimResolver). Only mappings by claim get them; expressions do not.
 */
import type { Clock } from '../../../component-base/clock.ts'
import type { JwtAuthenticatorConfig } from '../configuration/authentication-configuration.ts'
import { createHttpsCaller, type HttpsCaller } from '../../egress/https-call.ts'
import { unverifiedIssuer } from '../service-account-claims.ts'
import type { Claims } from './claim-mapping.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import type { VerifyToken } from './verified-token.ts'

const timeoutMs = 30_000
const maxBytes = 1024 * 1024
/** How long a request waits for the keys of a new issuer. */
const firstKeysMs = 2_000

/** The keys of another issuer, discovered from the first call on; undefined when there are too many issuers. */
export type KeysOfIssuer = (issuerUrl: string) => IssuerKeys | undefined

export interface DistributedClaims {
  /** The claims with the distributed ones, or an error. Its message never contains an access token. */
  resolve(claims: Claims): Promise<Claims | string>
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

interface Source {
  readonly url: URL
  readonly accessToken: string
}

/** The endpoint of the claim; undefined if it is not distributed; a text is an error. */
function sourceOf(claims: Claims, claim: string): Source | undefined | string {
  const { _claim_names: names, _claim_sources: sources } = claims
  if (Object.hasOwn(claims, claim) || names === undefined) return undefined
  if (!isRecord(names) || !Object.values(names).every((name) => typeof name === 'string')) {
    return 'error parsing distributed claim names'
  }
  if (sources === undefined) return 'no claim sources'
  if (!isRecord(sources) || !Object.values(sources).every(isRecord)) {
    return 'could not parse claim sources'
  }
  const name = Object.hasOwn(names, claim) ? names[claim] : undefined
  if (typeof name !== 'string') return undefined
  const source = Object.hasOwn(sources, name) ? sources[name] : undefined
  if (!isRecord(source)) {
    return `id token _claim_names contained a source ${JSON.stringify(name)} missing in _claims_sources`
  }
  const { endpoint = '', access_token: accessToken = '' } = source
  if (typeof endpoint !== 'string' || typeof accessToken !== 'string') {
    return 'could not parse claim sources'
  }
  // It may be an aggregated claim, which the token contains.
  if (endpoint === '') return undefined
  if (!URL.canParse(endpoint) || !endpoint.startsWith('https://')) {
    return 'the endpoint of a claim source is no https URL'
  }
  return { url: new URL(endpoint), accessToken }
}

export function createDistributedClaims(options: {
  readonly config: JwtAuthenticatorConfig
  readonly verify: VerifyToken
  readonly keysOf: KeysOfIssuer
  readonly clock: Clock
}): DistributedClaims {
  const { config, verify, keysOf, clock } = options
  const { groups } = config
  const claim = groups !== undefined && 'claim' in groups ? groups.claim : ''
  let caller: HttpsCaller | undefined

  async function fetched({ url, accessToken }: Source): Promise<string> {
    caller ??= createHttpsCaller({ clock, ca: config.certificateAuthority, timeoutMs, maxBytes })
    const { status, body } = await caller.call({
      url: url.href,
      headers: accessToken === '' ? {} : { authorization: `Bearer ${accessToken}` },
    })
    if (status < 200 || status > 226) throw new Error(`GET https://${url.host}: answered ${status}`)
    return body.toString().trim()
  }

  /** Waits a moment for the keys. A later request finds them. */
  async function firstKeys(keys: IssuerKeys): Promise<void> {
    const enough = Promise.withResolvers<void>()
    const cancel = clock.after(firstKeysMs, () => enough.resolve())
    await Promise.race([keys.found, enough.promise])
    cancel()
  }

  async function valueFrom(source: Source): Promise<{ value: unknown } | string> {
    let token: string
    try {
      token = await fetched(source)
    } catch (error) {
      return `while getting distributed claim ${JSON.stringify(claim)}: ${(error as Error).message}`
    }
    const issuerUrl = unverifiedIssuer(token)
    if (issuerUrl === undefined) {
      return `getting untrusted issuer from endpoint https://${source.url.host} failed for claim ${JSON.stringify(claim)}`
    }
    const keys = issuerUrl.startsWith('https://') ? keysOf(issuerUrl) : undefined
    if (keys === undefined) return `verifying untrusted issuer ${JSON.stringify(issuerUrl)} failed`
    await firstKeys(keys)
    const { audiences } = config
    const claims = await verify(token, { issuerUrl, audiences, keys })
    if (typeof claims === 'string') return `verify distributed claim token: ${claims}`
    return Object.hasOwn(claims, claim)
      ? { value: claims[claim] }
      : `jwt returned by distributed claim endpoint did not contain claim: ${claim}`
  }

  return {
    async resolve(claims) {
      if (claim === '') return claims
      const source = sourceOf(claims, claim)
      if (source === undefined) return claims
      const found = typeof source === 'string' ? source : await valueFrom(source)
      return typeof found === 'string'
        ? `oidc: could not expand distributed claims: ${found}`
        : { ...claims, [claim]: found.value }
    },
  }
}
