/** Maps the claims of a verified token to a user: claim rules, mappings, user rules (spec: "Authentication configuration file"). */
import type { CelProgram } from '../../../cel/cel.ts'
import { CelEvaluationError } from '../../../cel/cel-evaluation.ts'
import type {
  ClaimSource,
  JwtAuthenticatorConfig,
} from '../configuration/authentication-configuration.ts'
import type { UserInfo } from '../../request/request.ts'

export type Claims = Readonly<Record<string, unknown>>

/** Claims without a valid user. The message goes to the log and names claims, never values. */
export class ClaimError extends Error {}

function evaluated(program: CelProgram, variables: Record<string, unknown>, what: string): unknown {
  try {
    return program.evaluate(variables)
  } catch (error) {
    if (!(error instanceof CelEvaluationError)) throw error
    throw new ClaimError(`oidc: error evaluating ${what}: ${error.message}`, { cause: error })
  }
}

function textClaim(claims: Claims, name: string, what: string): string {
  const value = claims[name]
  if (value === undefined)
    throw new ClaimError(`oidc: parse ${what} claims ${JSON.stringify(name)}: claim not present`)
  if (typeof value !== 'string') {
    throw new ClaimError(`oidc: parse ${what} claims ${JSON.stringify(name)}: claim is no string`)
  }
  return value
}

/** A text, or a list of texts. */
function texts(value: unknown, what: string): string[] {
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return [value]
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
  throw new ClaimError(`oidc: ${what} is neither a string nor a list of strings`)
}

function userNameOf(source: ClaimSource, claims: Claims): string {
  const name =
    'program' in source
      ? evaluated(source.program, { claims }, 'username claim expression')
      : textClaim(claims, source.claim, 'username')
  if (typeof name !== 'string') throw new ClaimError('oidc: username claim expression is no string')
  if ('claim' in source && source.claim === 'email') checkEmail(claims)
  const full = 'prefix' in source ? source.prefix + name : name
  if (name === '' || full === '') throw new ClaimError('oidc: the username is empty')
  return full
}

/** Rejects an address that `email_verified` marks as unverified; without the claim the address is trusted. */
function checkEmail(claims: Claims): void {
  const isVerified = claims['email_verified']
  if (isVerified === undefined) return
  if (typeof isVerified !== 'boolean')
    throw new ClaimError("oidc: parse 'email_verified' claim: it is no boolean")
  if (!isVerified) throw new ClaimError('oidc: email not verified')
}

function groupsOf(source: ClaimSource | undefined, claims: Claims): string[] {
  if (source === undefined) return []
  if ('program' in source) {
    const found = texts(
      evaluated(source.program, { claims }, 'group claim expression'),
      'group claim expression',
    )
    return found.filter((group) => group !== '')
  }
  return texts(claims[source.claim], `groups claim ${JSON.stringify(source.claim)}`).map(
    (group) => source.prefix + group,
  )
}

function uidOf(source: ClaimSource | undefined, claims: Claims): string {
  if (source === undefined) return ''
  if ('claim' in source) return textClaim(claims, source.claim, 'uid')
  const uid = evaluated(source.program, { claims }, 'uid claim expression')
  if (typeof uid !== 'string') throw new ClaimError('oidc: uid claim expression is no string')
  return uid
}

function checkClaims(config: JwtAuthenticatorConfig, claims: Claims): void {
  for (const rule of config.claimRules) {
    if ('claim' in rule) {
      const value = textClaim(claims, rule.claim, 'required')
      if (value === rule.requiredValue) continue
      throw new ClaimError(
        `oidc: required claim ${JSON.stringify(rule.claim)} value does not match`,
      )
    }
    if (evaluated(rule.program, { claims }, 'claim validation expression') === true) continue
    const why = rule.message === '' ? 'failed' : `failed: ${rule.message}`
    throw new ClaimError(`oidc: validation expression '${rule.program.expression}' ${why}`)
  }
}

/** The user of the claims. Throws ClaimError. */
export function userOfClaims(config: JwtAuthenticatorConfig, claims: Claims): UserInfo {
  checkClaims(config, claims)
  const name = userNameOf(config.username, claims)
  const groups = groupsOf(config.groups, claims)
  const uid = uidOf(config.uid, claims)
  const extra: Record<string, string[]> = {}
  for (const { key, program } of config.extra) {
    const what = `extra claim expression ${JSON.stringify(key)}`
    const values = texts(evaluated(program, { claims }, what), what).filter((value) => value !== '')
    if (values.length > 0) extra[key] = values
  }
  for (const { program, message } of config.userRules) {
    const user = { username: name, uid, groups, extra }
    if (evaluated(program, { user }, 'user info validation rule') === true) continue
    const why = message === '' ? 'failed' : `failed: ${message}`
    throw new ClaimError(
      `oidc: error evaluating user info validation rule: validation expression '${program.expression}' ${why}`,
    )
  }
  return {
    name,
    groups,
    ...(uid === '' ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}
