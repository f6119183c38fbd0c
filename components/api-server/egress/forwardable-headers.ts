/** forwardable-headers: the headers of a request or an answer that may travel on to the next connection. */
import type { HttpRequest } from '../request/request.ts'

/** Headers that describe one connection (RFC 9110, section 7.6.1), and the caller's credentials. */
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
])

/** Pseudo-headers of HTTP/2, and headers in which a caller claims an identity. */
const notForwardedPrefixes = [':', 'impersonate-', 'x-remote-']

/**
 * The headers that go on. Authentication and impersonation have consumed the others, as upstream (authentication.go and
 * impersonation.go in apiserver pkg/endpoints/filters, httputil.ReverseProxy). `prefixes` name further ones to leave out.
 */
export function forwardable(
  headers: HttpRequest['headers'],
  ...prefixes: readonly string[]
): Record<string, string | string[]> {
  const left = [...notForwardedPrefixes, ...prefixes]
  const passed: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || notForwarded.has(name)) continue
    if (left.some((prefix) => name.startsWith(prefix))) continue
    passed[name] = value
  }
  return passed
}
