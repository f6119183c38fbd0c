/** Bootstrap tokens: Secrets that let a node ask for its first certificate (upstream: plugin/pkg/auth/authenticator/token/bootstrap). */
import { timingSafeEqual } from 'node:crypto'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AuthenticationResult, TokenAuthenticator } from './authenticator.ts'

const tokenForm = /^([a-z0-9]{6})\.([a-z0-9]{16})$/
const groupForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/
const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/
const defaultGroup = 'system:bootstrappers'

const otherForm: AuthenticationResult = { kind: 'none', why: 'not of the form <id>.<secret>' }

/** Compares in a time that does not depend on where the texts differ. */
function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

/** An invalid time counts as expired. */
function hasExpired(expiration: string, nowMs: number): boolean {
  if (expiration === '') return false
  const atMs = rfc3339.test(expiration) ? Date.parse(expiration) : Number.NaN
  return Number.isNaN(atMs) || atMs <= nowMs
}

/** Undefined when one of the extra groups is not a bootstrap group. */
function groupsOf(extraGroups: string): string[] | undefined {
  if (extraGroups === '') return [defaultGroup]
  const extra = extraGroups.split(',')
  if (!extra.every((group) => groupForm.test(group))) return undefined
  return [...new Set([defaultGroup, ...extra])].toSorted()
}

/** Authenticates the tokens `<id>.<secret>` of the Secrets `bootstrap-token-<id>` in the system namespace. */
export function bootstrapTokenAuthenticator(options: {
  reader: ObjectReader
  clock: Clock
  dialect: Dialect
}): TokenAuthenticator {
  const { reader, clock, dialect } = options
  const { secrets } = resourcesOf(dialect)
  const secretType = labelKey(dialect, 'bootstrap', 'token')

  function check(id: string, presented: string): AuthenticationResult {
    const failed = (why: string): AuthenticationResult => ({
      kind: 'failed',
      why: `bootstrap token ${id}: ${why}`,
    })
    const secret = reader.get(secrets, dialect.systemNamespace, `bootstrap-token-${id}`)
    if (secret === undefined) return failed('no such Secret')
    if (secret.metadata.deletionTimestamp !== undefined)
      return failed('the Secret is being deleted')
    if (secret['type'] !== secretType) return failed('the Secret has another type')
    const data = (secret['data'] ?? {}) as Record<string, string>
    const value = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8')
    if (!sameText(value('token-secret'), presented)) return failed('the secret does not match')
    if (value('token-id') !== id) return failed('token-id does not match')
    if (hasExpired(value('expiration'), clock.now())) return failed('expired')
    if (value('usage-bootstrap-authentication') !== 'true') return failed('not for authentication')
    const groups = groupsOf(value('auth-extra-groups'))
    if (groups === undefined) return failed('auth-extra-groups has a group that is not allowed')
    return { kind: 'user', user: { name: `system:bootstrap:${id}`, groups } }
  }

  return {
    name: 'bootstrap-token',
    authenticateToken(token) {
      const [, id, presented] = tokenForm.exec(token) ?? []
      if (id === undefined || presented === undefined) return otherForm
      return check(id, presented)
    },
  }
}
