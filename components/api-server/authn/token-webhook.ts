/** The token webhook: a remote service authenticates tokens by TokenReview (spec: "Token webhook contract"). */
import { hash } from 'node:crypto'
import type { Clock } from '../../component-base/clock.ts'
import { ExpiringCache } from '../../component-base/expiring-cache.ts'
import { WebhookError, type WebhookClient } from '../egress/webhook-client.ts'
import type { UserInfo } from '../request/request.ts'
import type { AuthenticationResult, TokenAuthenticator } from './authenticator.ts'

const mostKnown = 4096
const maxTokenLength = 16_384

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

function userOf(value: unknown): UserInfo | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { username, uid, groups, extra } = value as Record<string, unknown>
  if (typeof username !== 'string' || username === '') return undefined
  const more = typeof extra === 'object' && extra !== null ? Object.entries(extra) : []
  return {
    name: username,
    groups: texts(groups),
    ...(typeof uid === 'string' && uid !== '' ? { uid } : {}),
    ...(more.length === 0
      ? {}
      : { extra: Object.fromEntries(more.map(([key, values]) => [key, texts(values)])) }),
  }
}

const tooLong: AuthenticationResult = { kind: 'none', why: 'too long for a token' }

export interface TokenWebhookOptions {
  readonly client: WebhookClient
  /** `authentication.k8s.io/v1`, or its beta. */
  readonly apiVersion: string
  /** The audiences of --api-audiences; without the flag, reviews name none (WEBHOOK-006). */
  readonly configuredAudiences: readonly string[]
  readonly cacheTtlMs: number
  readonly clock: Clock
}

interface AskedToken {
  readonly token: string
  readonly audiences: readonly string[]
}

/** The result that a TokenReview's status means. */
function resultOf(
  status: Readonly<Record<string, unknown>>,
  asked: AskedToken & Pick<TokenWebhookOptions, 'configuredAudiences'>,
): AuthenticationResult {
  const { token, audiences, configuredAudiences } = asked
  const { authenticated, user, error } = status
  if (authenticated !== true) {
    // The remote's message may repeat the token.
    const why =
      typeof error === 'string' && error !== ''
        ? error.replaceAll(token, '<token>')
        : 'invalid bearer token'
    return { kind: 'failed', why }
  }
  const found = userOf(user)
  if (found === undefined) return { kind: 'failed', why: 'the token webhook named no user' }
  if (audiences.length === 0) return { kind: 'user', user: found }
  const answered = texts(status['audiences'])
  // A remote that does not know audiences answers for this server's own.
  const good = answered.length === 0 ? configuredAudiences : answered
  const shared = audiences.filter((one) => good.includes(one))
  if (shared.length === 0) return { kind: 'failed', why: 'the token is for other audiences' }
  return { kind: 'user', user: found, audiences: shared }
}

/** One review, uncached. A remote that does not answer is a failure, not an exception. */
async function review(
  { client, apiVersion, configuredAudiences }: TokenWebhookOptions,
  { token, audiences }: AskedToken,
): Promise<{ readonly result: AuthenticationResult; readonly isAnswered: boolean }> {
  try {
    const status = await client.review({
      apiVersion,
      kind: 'TokenReview',
      spec: { token, ...(audiences.length === 0 ? {} : { audiences }) },
    })
    const result = resultOf(status, { token, audiences, configuredAudiences })
    return { result, isAnswered: true }
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    return { result: { kind: 'failed', why: error.message }, isAnswered: false }
  }
}

export function tokenWebhookAuthenticator(options: TokenWebhookOptions): TokenAuthenticator {
  const { configuredAudiences, cacheTtlMs, clock } = options
  const known = new ExpiringCache<AuthenticationResult>({ most: mostKnown, clock })
  const asking = new Map<string, Promise<AuthenticationResult>>()

  async function ask(asked: AskedToken, key: string): Promise<AuthenticationResult> {
    try {
      const { result, isAnswered } = await review(options, asked)
      if (isAnswered) known.set(key, result, cacheTtlMs)
      return result
    } finally {
      asking.delete(key)
    }
  }

  return {
    name: 'token-webhook',
    authenticateToken(token, audiences) {
      if (token.length > maxTokenLength) return tooLong
      const isUsual = audiences.length === 0
      // No token can look like another one with audiences: those begin with a bracket.
      const text = isUsual ? `=${token}` : JSON.stringify([token, audiences])
      const key = hash('sha256', text, 'base64')
      const before = known.get(key)
      if (before !== undefined) return before
      let answer = asking.get(key)
      if (answer === undefined) {
        answer = ask({ token, audiences: isUsual ? configuredAudiences : audiences }, key)
        asking.set(key, answer)
      }
      return answer
    },
  }
}
