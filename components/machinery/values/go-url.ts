/** URLs as Go reads them (upstream: Go's net/url). */
import { goQuote } from './go-syntax.ts'

export interface GoUrl {
  readonly scheme: string
  readonly host: string
  readonly user: string | undefined
  /** As written, not decoded. */
  readonly path: string
  readonly query: string
  readonly fragment: string
}

const urlForm =
  /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s

/** The parts as Go sees them, which is less forgiving and less tidy than the platform's parser; a text is its error. */
export function parseGoUrl(text: string): GoUrl | string {
  // oxlint-disable-next-line no-control-regex -- these are what makes it invalid
  if (/[\u0000-\u001f\u007f]/.test(text)) return 'net/url: invalid control character in URL'
  if (text.startsWith(':')) return 'missing protocol scheme'
  const badEscape = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(text)
  if (badEscape !== null) return `invalid URL escape ${goQuote(badEscape[0])}`
  const [, scheme = '', authority = '', path = '', query = '', fragment = ''] =
    urlForm.exec(text) ?? []
  if (scheme === '' && authority === '' && /^[^/]*:/.test(path)) {
    return 'first path segment in URL cannot contain colon'
  }
  const at = authority.lastIndexOf('@')
  const host = authority.slice(at + 1)
  if (/[ <>"]/.test(host))
    return `invalid character ${goQuote(host.match(/[ <>"]/)?.[0] ?? '')} in host name`
  const port = /:([^\]]*)$/.exec(host)?.[1]
  if (port !== undefined && !/^[0-9]*$/.test(port)) {
    return `invalid port ${goQuote(`:${port}`)} after host`
  }
  const user = at < 0 ? undefined : authority.slice(0, at)
  return { scheme: scheme.toLowerCase(), host, user, path, query, fragment }
}
