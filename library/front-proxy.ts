/**
 * FrontProxy: how the API server shows an extension API server who asks: headers, which count with the front proxy's certificate
 * alone (upstream: apiserver pkg/authentication/request/headerrequest).
 */
import { certificateUser, parseClientCa } from '../components/client/delegated-auth.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { prefixedHeaders } from '../components/component-base/http.ts'
import type { HttpRequest } from '../components/component-base/http.ts'
import type { Dialect } from '../components/api/dialect.ts'
import type { KubernetesObject, ObjectClient, UserInfo } from './types.ts'

export interface FrontProxy {
  /** Undefined for a request that the API server has not forwarded. */
  userOf(request: HttpRequest): UserInfo | undefined
}

/** A ConfigMap that API servers publish for extension API servers; lists are JSON. */
interface Published extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>
}

function listsOf({ data = {} }: Published) {
  const list = (name: string): string[] => JSON.parse(data[name] ?? '[]') as string[]
  const lowerCase = (name: string): string[] => list(name).map((one) => one.toLowerCase())
  return {
    allowedNames: list('requestheader-allowed-names'),
    username: lowerCase('requestheader-username-headers'),
    uid: lowerCase('requestheader-uid-headers'),
    groups: lowerCase('requestheader-group-headers'),
    extra: lowerCase('requestheader-extra-headers-prefix'),
  }
}

function extraOf(request: HttpRequest, prefixes: readonly string[]): UserInfo['extra'] {
  const extra: Record<string, readonly string[]> = {}
  for (const prefix of prefixes) {
    for (const [key, values] of prefixedHeaders(request, prefix))
      extra[key] = [...(extra[key] ?? []), ...values]
  }
  return extra
}

/** Reads what the API server publishes. Rejects when it forwards no users. Certificates are judged by `clock`. */
export async function readFrontProxy(
  client: ObjectClient,
  { dialect, clock }: { readonly dialect: Dialect; readonly clock: Clock },
): Promise<FrontProxy> {
  const published: Published = await client.get({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    namespace: dialect.systemNamespace,
    name: 'extension-apiserver-authentication',
  })
  const ca = published.data?.['requestheader-client-ca-file']
  if (ca === undefined)
    throw new Error(
      'the API server forwards no users to extension API servers: give it the flags requestheader-client-ca-file and requestheader-username-headers',
    )
  const authorities = parseClientCa(ca)
  const headers = listsOf(published)
  const { allowedNames } = headers
  return {
    userOf: (request) => {
      const { peer } = request
      const proxy = peer && certificateUser(peer, authorities, clock.now())
      if (proxy === undefined) return undefined
      if (allowedNames.length > 0 && !allowedNames.includes(proxy.username)) return undefined
      const first = (names: readonly string[]): string | undefined =>
        names.map((name) => request.values(name)[0]).find(Boolean)
      const username = first(headers.username)
      if (username === undefined) return undefined
      const uid = first(headers.uid)
      return {
        username,
        ...(uid === undefined ? {} : { uid }),
        groups: headers.groups.flatMap((name) => request.values(name)).filter(Boolean),
        extra: extraOf(request, headers.extra),
      }
    },
  }
}
