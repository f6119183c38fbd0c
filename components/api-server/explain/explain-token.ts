/**
 * explain-token: the content of a bearer token and each authenticator's verdict, without the token, its signature or its
 * secret.
 */
import type { TokenContent, TokenExplanation } from '../../api/explanations.ts'
import { measureJson } from '../../machinery/values/json-measure.ts'
import type { Authentication } from '../authn/authentication.ts'
import { authenticatedGroup } from '../authn/union.ts'

/** No authenticator accepts a longer token. */
const longestToken = 16_384
const deepestClaims = 50

function objectOf(part: string | undefined): Record<string, unknown> | undefined {
  const bytes = Buffer.from(part ?? '', 'base64url')
  try {
    if (measureJson(bytes).depth > deepestClaims) return undefined
    const value: unknown = JSON.parse(bytes.toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    // Not JSON: the token has another form.
    return undefined
  }
}

/** The place of distributed claims is public. The token that fetches them is secret. */
function withoutSecrets(claims: Record<string, unknown>): Record<string, unknown> {
  const sources = claims['_claim_sources']
  if (sources === undefined) return claims
  const shown =
    typeof sources === 'object' && sources !== null
      ? Object.fromEntries(
          Object.entries(sources as Record<string, unknown>).map(([name, source]) => [
            name,
            { endpoint: (source as { endpoint?: unknown } | null)?.endpoint },
          ]),
        )
      : null
  return { ...claims, _claim_sources: shown }
}

function contentOf(token: string): TokenContent {
  const opaque: TokenContent = { form: 'opaque', length: token.length }
  if (token.length > longestToken) return opaque
  const [, id] = /^([a-z0-9]{6})\.[a-z0-9]{16}$/.exec(token) ?? []
  if (id !== undefined) return { form: 'bootstrap token', id }
  const parts = token.split('.')
  const [header, claims] = parts.length === 3 ? [objectOf(parts[0]), objectOf(parts[1])] : []
  if (header === undefined || claims === undefined) return opaque
  const { alg, kid, typ } = header
  return { form: 'jwt', header: { alg, kid, typ }, claims: withoutSecrets(claims) }
}

export async function explainToken(
  asked: { readonly token: string; readonly audiences: readonly string[] },
  explain: Authentication['explainToken'],
): Promise<TokenExplanation> {
  const { token, audiences } = asked
  const { result, tried } = await explain(token, audiences)
  const known = { token: contentOf(token), authenticators: tried }
  if (result.kind !== 'user') {
    const reason = result.kind === 'failed' ? result.why : 'no authenticator knows the token'
    return { authenticated: false, reason, ...known }
  }
  const { user } = result
  return {
    authenticated: true,
    user: { ...user, groups: [...new Set([...user.groups, authenticatedGroup])] },
    ...(result.audiences === undefined ? {} : { audiences: result.audiences }),
    ...known,
  }
}
