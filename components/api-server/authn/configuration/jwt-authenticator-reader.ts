/** Reads one issuer of an AuthenticationConfiguration: validates its fields and compiles its expressions. */
import {
  duplicateValue,
  invalidValue,
  invalidWithoutValue,
  requiredValue,
} from '../../../machinery/validation/field-errors.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import { CelCompileError, compileCel, type CelProgram } from '../../../cel/cel.ts'
import { bool, dyn, listOf, mapOf, string, type CelType } from '../../../cel/cel-types.ts'
import type {
  ClaimRule,
  ClaimSource,
  JwtAuthenticatorConfig,
  RawAuthenticator,
  RawMapping,
} from './authentication-configuration.ts'
import { authorityFault } from './authority-fault.ts'

const claimsVariables: Readonly<Record<string, CelType>> = { claims: mapOf(string, dyn) }
const userVariables: Readonly<Record<string, CelType>> = {
  user: {
    kind: 'object',
    name: 'kubernetes.UserInfo',
    fields: {
      username: string,
      uid: string,
      groups: listOf(string),
      extra: mapOf(string, listOf(string)),
    },
  },
}
const textOrTexts = [string, listOf(string), listOf(dyn)]

/** The error of an issuer's URL; undefined for a valid one. */
function urlFault(value: string): string | undefined {
  if (!URL.canParse(value)) return 'URL is not valid'
  const url = new URL(value)
  if (url.protocol !== 'https:') return 'URL scheme must be https'
  if (url.username !== '' || url.password !== '')
    return 'URL must not contain a username or password'
  if (value.includes('?')) return 'URL must not contain a query'
  if (value.includes('#')) return 'URL must not contain a fragment'
  return undefined
}

/** Keys of `extra` look like labels' keys with a prefix: `example.com/role`. */
function isDomainPrefixedPath(key: string): boolean {
  const slash = key.indexOf('/')
  const isDomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
  const rest = key.slice(slash + 1)
  return (
    slash > 0 &&
    isDomain.test(key.slice(0, slash)) &&
    /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(rest)
  )
}

/** The product's own domains, in both dialects; mappings must not set keys below them. */
const reservedDomains = ['k8s.io', 'kubernetes.io', 'svc.io']

/** One reading; adds errors to the given list. */
export class JwtAuthenticatorReader {
  readonly #raw: RawAuthenticator
  readonly #path: string
  readonly #errors: FieldError[]
  readonly #seen: { readonly urls: Set<string>; readonly discoveryUrls: Set<string> }
  readonly #disallowed: readonly string[]

  constructor(
    raw: RawAuthenticator,
    path: string,
    to: {
      errors: FieldError[]
      seen: { urls: Set<string>; discoveryUrls: Set<string> }
      disallowedIssuers: readonly string[]
    },
  ) {
    this.#raw = raw
    this.#path = path
    this.#errors = to.errors
    this.#seen = to.seen
    this.#disallowed = to.disallowedIssuers
  }

  /** Undefined after errors. */
  read(): JwtAuthenticatorConfig | undefined {
    const before = this.#errors.length
    this.#checkIssuer()
    const claimRules = this.#claimRules()
    const { username, groups, uid } = this.#raw.claimMappings ?? {}
    const from = `${this.#path}.claimMappings`
    const name = this.#mapping(username ?? {}, `${from}.username`, { required: true })
    const extra = this.#extra(`${from}.extra`)
    const config = {
      issuerUrl: this.#raw.issuer?.url ?? '',
      discoveryUrl: this.#raw.issuer?.discoveryURL,
      certificateAuthority: this.#raw.issuer?.certificateAuthority,
      audiences: this.#raw.issuer?.audiences ?? [],
      claimRules,
      groups: groups && this.#mapping(groups, `${from}.groups`, { many: true }),
      uid: uid && this.#mapping(uid, `${from}.uid`, { plain: true }),
      extra,
      userRules: this.#userRules(),
    }
    if (name !== undefined) {
      this.#checkEmail(
        name,
        [...claimRules, ...extra].flatMap((one) => ('program' in one ? [one.program] : [])),
      )
    }
    return name === undefined || this.#errors.length > before
      ? undefined
      : { ...config, username: name }
  }

  #checkIssuer(): void {
    const {
      url,
      discoveryURL,
      certificateAuthority,
      audiences = [],
      audienceMatchPolicy = '',
    } = this.#raw.issuer ?? {}
    const at = `${this.#path}.issuer`
    if (url === undefined || url === '')
      this.#errors.push(requiredValue(`${at}.url`, 'URL is required'))
    else this.#checkUrl(url, `${at}.url`, this.#seen.urls)
    if (url !== undefined && this.#disallowed.includes(url)) {
      const detail = `URL must not overlap with disallowed issuers: [${this.#disallowed.join(' ')}]`
      this.#errors.push(invalidValue(`${at}.url`, { value: url, detail }))
    }
    if (discoveryURL !== undefined && discoveryURL !== '') {
      this.#checkUrl(discoveryURL, `${at}.discoveryURL`, this.#seen.discoveryUrls)
      if (discoveryURL === url || discoveryURL === `${url ?? ''}/`) {
        const detail = 'discoveryURL must be different from URL'
        this.#errors.push(invalidValue(`${at}.discoveryURL`, { value: discoveryURL, detail }))
      }
    }
    this.#checkAudiences(audiences, audienceMatchPolicy, at)
    if (certificateAuthority !== undefined && certificateAuthority !== '') {
      const fault = authorityFault(certificateAuthority)
      if (fault !== undefined) {
        this.#errors.push(invalidWithoutValue(`${at}.certificateAuthority`, fault))
      }
    }
  }

  #checkUrl(value: string, at: string, seen: Set<string>): void {
    const fault = urlFault(value)
    if (fault !== undefined) this.#errors.push(invalidValue(at, { value, detail: fault }))
    if (seen.has(value)) this.#errors.push(duplicateValue(at, value))
    seen.add(value)
  }

  #checkAudiences(audiences: readonly string[], policy: string, at: string): void {
    if (audiences.length === 0) {
      this.#errors.push(requiredValue(`${at}.audiences`, 'at least one audience is required'))
    }
    for (const [i, audience] of audiences.entries()) {
      const place = `${at}.audiences[${i}]`
      if (audience === '') this.#errors.push(requiredValue(place, "audience can't be empty"))
      else if (audiences.indexOf(audience) < i) this.#errors.push(duplicateValue(place, audience))
    }
    const detail =
      audiences.length > 1 && policy !== 'MatchAny'
        ? 'audienceMatchPolicy must be MatchAny for multiple audiences'
        : audiences.length === 1 && policy !== '' && policy !== 'MatchAny'
          ? 'audienceMatchPolicy must be empty or MatchAny for single audience'
          : undefined
    if (detail !== undefined) {
      this.#errors.push(invalidValue(`${at}.audienceMatchPolicy`, { value: policy, detail }))
    }
  }

  #compile(
    expression: string,
    at: string,
    more: { variables: Readonly<Record<string, CelType>>; results: readonly CelType[] },
  ): CelProgram | undefined {
    try {
      return compileCel(expression, more)
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error
      this.#errors.push(invalidValue(at, { value: expression, detail: error.message }))
      return undefined
    }
  }

  #claimRules(): ClaimRule[] {
    const seen = new Set<string>()
    const rules: ClaimRule[] = []
    for (const [i, rule] of (this.#raw.claimValidationRules ?? []).entries()) {
      const at = `${this.#path}.claimValidationRules[${i}]`
      const { claim = '', requiredValue: value = '', expression = '', message = '' } = rule
      const key = claim === '' ? `expression:${expression}` : `claim:${claim}`
      const fault = claimRuleFault({ claim, expression, value, message }, at)
      if (fault !== undefined) {
        this.#errors.push(fault)
        continue
      }
      if (seen.has(key)) {
        const place = claim === '' ? `${at}.expression` : `${at}.claim`
        this.#errors.push(duplicateValue(place, claim === '' ? expression : claim))
      }
      seen.add(key)
      if (claim !== '') {
        rules.push({ claim, requiredValue: value })
        continue
      }
      const program = this.#compile(expression, `${at}.expression`, {
        variables: claimsVariables,
        results: [bool],
      })
      if (program !== undefined) rules.push({ program, message })
    }
    return rules
  }

  #mapping(
    raw: RawMapping,
    at: string,
    more: { required?: boolean; many?: boolean; plain?: boolean },
  ): ClaimSource | undefined {
    const { claim = '', prefix, expression = '' } = raw
    const detail = (text: string): undefined => {
      this.#errors.push(invalidWithoutValue(at, text))
      return undefined
    }
    if (claim !== '' && expression !== '') return detail("claim and expression can't both be set")
    if (claim === '' && expression === '') {
      if (more.required === true)
        this.#errors.push(requiredValue(at, 'claim or expression is required'))
      else if (prefix !== undefined) {
        return detail('non-empty claim name is required when prefix is set')
      }
      return undefined
    }
    if (expression !== '') {
      if (prefix !== undefined) {
        const value = prefix
        this.#errors.push(
          invalidValue(`${at}.prefix`, {
            value,
            detail: "prefix can't be set when expression is set",
          }),
        )
      }
      const results = more.many === true ? textOrTexts : [string]
      const program = this.#compile(expression, `${at}.expression`, {
        variables: claimsVariables,
        results,
      })
      return program && { program }
    }
    if (prefix === undefined && more.plain !== true) {
      this.#errors.push(
        requiredValue(
          `${at}.prefix`,
          'prefix is required when claim is set. It can be set to an empty string to disable prefixing',
        ),
      )
    }
    return { claim, prefix: prefix ?? '' }
  }

  #extra(from: string): { key: string; program: CelProgram }[] {
    const seen = new Set<string>()
    const result: { key: string; program: CelProgram }[] = []
    for (const [i, { key = '', valueExpression = '' }] of (
      this.#raw.claimMappings?.extra ?? []
    ).entries()) {
      const at = `${from}[${i}]`
      const refuse = (detail: string): void => {
        this.#errors.push(invalidValue(`${at}.key`, { value: key, detail }))
      }
      const domain = key.split('/')[0] ?? ''
      if (key === '') this.#errors.push(requiredValue(`${at}.key`))
      else if (!isDomainPrefixedPath(key)) {
        refuse('must be a domain-prefixed path (such as "acme.io/foo")')
      } else if (key !== key.toLowerCase()) refuse('key must be lowercase')
      if (reservedDomains.some((one) => domain === one || domain.endsWith(`.${one}`))) {
        refuse('k8s.io, kubernetes.io, svc.io and their subdomains are reserved for Kubernetes use')
      }
      if (seen.has(key)) this.#errors.push(duplicateValue(`${at}.key`, key))
      seen.add(key)
      if (valueExpression === '') {
        this.#errors.push(requiredValue(`${at}.valueExpression`, 'valueExpression is required'))
        continue
      }
      const program = this.#compile(valueExpression, `${at}.valueExpression`, {
        variables: claimsVariables,
        results: textOrTexts,
      })
      if (program !== undefined) result.push({ key, program })
    }
    return result
  }

  #userRules(): { program: CelProgram; message: string }[] {
    const seen = new Set<string>()
    const rules: { program: CelProgram; message: string }[] = []
    for (const [i, { expression = '', message = '' }] of (
      this.#raw.userValidationRules ?? []
    ).entries()) {
      const at = `${this.#path}.userValidationRules[${i}].expression`
      if (expression === '') {
        this.#errors.push(requiredValue(at, 'expression is required'))
        continue
      }
      if (seen.has(expression)) this.#errors.push(duplicateValue(at, expression))
      seen.add(expression)
      const program = this.#compile(expression, at, { variables: userVariables, results: [bool] })
      if (program !== undefined) rules.push({ program, message })
    }
    return rules
  }

  /** An unverified address must not become a user name (OIDC-047). */
  #checkEmail(username: ClaimSource, others: readonly CelProgram[]): void {
    if (!('program' in username) || !username.program.usesField('claims', 'email')) return
    const isChecked = [username.program, ...others].some((one) =>
      one.usesField('claims', 'email_verified'),
    )
    if (isChecked) return
    this.#errors.push(
      invalidValue(`${this.#path}.claimMappings.username.expression`, {
        value: username.program.expression,
        detail:
          'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression',
      }),
    )
  }
}

function claimRuleFault(
  rule: { claim: string; expression: string; value: string; message: string },
  at: string,
): FieldError | undefined {
  const { claim, expression, value, message } = rule
  if (claim !== '' && expression !== '') {
    return invalidWithoutValue(at, "claim and expression can't both be set")
  }
  if (claim === '' && expression === '') {
    return requiredValue(at, 'claim or expression is required')
  }
  if (claim !== '' && message !== '') {
    return invalidValue(`${at}.message`, {
      value: message,
      detail: "message can't be set when claim is set",
    })
  }
  if (expression !== '' && value !== '') {
    return invalidValue(`${at}.requiredValue`, {
      value,
      detail: "requiredValue can't be set when expression is set",
    })
  }
  return undefined
}
