/** request-header: identity in headers, from a proxy that shows a certificate of the front-proxy authority (spec: "Authenticating proxy"). */
import { subjectOf } from '../../component-base/certificate-subject.ts'
import type { Clock } from '../../component-base/clock.ts'
import { prefixedHeaders } from '../../component-base/http.ts'
import type { HttpRequest } from '../request/request.ts'
import type { AuthenticationResult, Authenticator } from './authenticator.ts'
import { createChainVerifier, type TrustedAuthorities } from './certificate-chain.ts'

export interface RequestHeaderOptions {
  /** As for createChainVerifier. */
  readonly authorities: () => TrustedAuthorities
  /** Common names a proxy may have; empty: any that the authority signed. */
  readonly allowedNames: readonly string[]
  readonly usernameHeaders: readonly string[]
  readonly uidHeaders: readonly string[]
  readonly groupHeaders: readonly string[]
  readonly extraPrefixes: readonly string[]
  readonly clock: Clock
}

function extraOf(
  request: HttpRequest,
  prefixes: readonly string[],
): Record<string, readonly string[]> {
  const extra = new Map<string, readonly string[]>()
  for (const prefix of prefixes) {
    for (const [key, values] of prefixedHeaders(request, prefix)) {
      extra.set(key, [...(extra.get(key) ?? []), ...values])
    }
  }
  return Object.fromEntries(extra)
}

const lowerCase = (names: readonly string[]): string[] =>
  names.map((name) => name.toLowerCase()).filter((name) => name !== '')

const noProxy: AuthenticationResult = {
  kind: 'none',
  why: 'no user header, or no client certificate',
}

/** Ignores requests without the headers. A certificate that is not a proxy's fails unless another authenticator accepts it. */
export function requestHeaderAuthenticator(options: RequestHeaderOptions): Authenticator {
  const { allowedNames } = options
  const usernameHeaders = lowerCase(options.usernameHeaders)
  const uidHeaders = lowerCase(options.uidHeaders)
  const groupHeaders = lowerCase(options.groupHeaders)
  const extraPrefixes = lowerCase(options.extraPrefixes)
  const verify = createChainVerifier(options)
  return {
    name: 'request-header',
    authenticate(request): AuthenticationResult {
      if (request.peer === undefined) return noProxy
      const chain = verify(request.peer)
      if (!chain.ok) return { kind: 'failed', why: chain.why }
      if (allowedNames.length > 0) {
        const commonName = subjectOf(chain.leaf).commonName ?? ''
        if (!allowedNames.includes(commonName)) {
          return { kind: 'failed', why: `proxy certificate name "${commonName}" is not allowed` }
        }
      }
      // Of a repeated header the first value counts.
      const name = usernameHeaders.map((header) => request.values(header)[0]).find(Boolean)
      if (name === undefined) return noProxy
      const uid = uidHeaders.map((header) => request.values(header)[0]).find(Boolean)
      const extra = extraOf(request, extraPrefixes)
      return {
        kind: 'user',
        user: {
          name,
          ...(uid === undefined ? {} : { uid }),
          groups: groupHeaders.flatMap((header) => request.values(header)).filter(Boolean),
          ...(Object.keys(extra).length === 0 ? {} : { extra }),
        },
      }
    },
  }
}
