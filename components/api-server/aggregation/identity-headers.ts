/** identity-headers: the user of a request, as headers for an extension API server (upstream: client-go transport.SetAuthProxyHeaders). */
import type { UserInfo } from '../request/request.ts'

/** Node takes each character of a header value for a byte. */
const bytes = (text: string): string => Buffer.from(text).toString('latin1')

/** Percent-encodes the characters that a header name cannot have, and the percent sign. */
function escapedKey(key: string): string {
  return bytes(key).replace(
    /[^!#$&'*+\-.^_`|~0-9A-Za-z]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}

/** `withUid` is the feature gate RemoteRequestHeaderUID. */
export function identityHeaders({ name, uid, groups, extra = {} }: UserInfo, withUid: boolean) {
  const headers: Record<string, string | string[]> = { 'X-Remote-User': bytes(name) }
  if (withUid && uid) headers['X-Remote-Uid'] = bytes(uid)
  if (groups.length > 0) headers['X-Remote-Group'] = groups.map(bytes)
  for (const [key, values] of Object.entries(extra)) {
    if (values.length > 0) headers[`X-Remote-Extra-${escapedKey(key)}`] = values.map(bytes)
  }
  return headers
}
