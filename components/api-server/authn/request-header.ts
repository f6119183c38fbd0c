/** request-header: identity in headers, from a proxy that shows a certificate of the front-proxy authority (spec: "Authenticating proxy"). */
import type { Clock } from '../../component-base/clock.ts'
import type { HttpRequest } from '../request.ts'
import type { AuthenticationResult, Authenticator } from './authenticator.ts'
import { verifyClientChain, type TrustedAuthorities } from './certificate-chain.ts'

export interface RequestHeaderOptions {
  readonly authorities: () => TrustedAuthorities
  /** Common names a proxy may have; empty: any that the authority signed. */
  readonly allowedNames: readonly string[]
  readonly usernameHeaders: readonly string[]
  readonly groupHeaders: readonly string[]
  readonly extraPrefixes: readonly string[]
  readonly clock: Clock
}

function valuesOf(request: HttpRequest, name: string): string[] {
  const value = request.headers[name.toLowerCase()]
  if (value === undefined) return []
  return Array.isArray(value) ? value : value.split(', ')
}

function extraOf(request: HttpRequest, prefixes: readonly string[]): Record<string, string[]> {
  const extra: Record<string, string[]> = {}
  for (const name of Object.keys(request.headers)) {
    const prefix = prefixes.find((one) => one !== '' && name.startsWith(one.toLowerCase()))
    if (prefix === undefined) continue
    let key = name.slice(prefix.length)
    try {
      key = decodeURIComponent(key)
    } catch {
      // Upstream takes a key that is not percent-encoded as it stands.
    }
    extra[key.toLowerCase()] = valuesOf(request, name)
  }
  return extra
}

/** Without the headers, or without a certificate of that authority, it has nothing to say. */
export function requestHeaderAuthenticator(options: RequestHeaderOptions): Authenticator {
  const { authorities, allowedNames, usernameHeaders, groupHeaders, extraPrefixes, clock } = options
  return {
    name: 'request-header',
    authenticate(request): AuthenticationResult {
      const name = usernameHeaders.flatMap((header) => valuesOf(request, header)).find(Boolean)
      if (name === undefined || request.peer === undefined) return { kind: 'none' }
      const chain = verifyClientChain(request.peer, authorities(), clock.now())
      if (!chain.ok) return { kind: 'none' }
      const commonName = [chain.leaf.toLegacyObject().subject.CN].flat().at(-1) ?? ''
      if (allowedNames.length > 0 && !allowedNames.includes(commonName)) {
        return { kind: 'failed', why: `proxy certificate name "${commonName}" is not allowed` }
      }
      const extra = extraOf(request, extraPrefixes)
      return {
        kind: 'user',
        user: {
          name,
          groups: groupHeaders.flatMap((header) => valuesOf(request, header)),
          ...(Object.keys(extra).length === 0 ? {} : { extra }),
        },
      }
    },
  }
}
