/** How this server tells an extension API server for whom it asks (upstream: client-go transport.SetAuthProxyHeaders). */
import type { HttpRequest, UserInfo } from '../request/request.ts'

/** One connection's, the caller's credentials, and whom the caller himself says he is: none of it is passed on. */
const notForwarded = new Set([
  'authorization',
  'connection',
  'content-length',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-forwarded-for',
])
const notForwardedPrefixes = [':', 'impersonate-', 'x-remote-']

/** Headers of a request or an answer that may go on to the next connection. */
export function forwardable(headers: HttpRequest['headers']): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || notForwarded.has(name)) continue
    if (notForwardedPrefixes.some((prefix) => name.startsWith(prefix))) continue
    kept[name] = value
  }
  return kept
}

/** Header values are bytes to Node. */
const bytes = (text: string): string => Buffer.from(text).toString('latin1')

/** All that is no character of a header's name, and the percent sign itself. */
function escapedKey(key: string): string {
  return bytes(key).replace(
    /[^!#$&'*+\-.^_`|~0-9A-Za-z]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}

/** The user as headers; the uid is told when the gate RemoteRequestHeaderUID is on. */
export function identityHeaders({ name, uid, groups, extra = {} }: UserInfo, withUid: boolean) {
  const headers: Record<string, string | string[]> = { 'X-Remote-User': bytes(name) }
  if (withUid && uid) headers['X-Remote-Uid'] = bytes(uid)
  if (groups.length > 0) headers['X-Remote-Group'] = groups.map(bytes)
  for (const [key, values] of Object.entries(extra)) {
    if (values.length > 0) headers[`X-Remote-Extra-${escapedKey(key)}`] = values.map(bytes)
  }
  return headers
}
