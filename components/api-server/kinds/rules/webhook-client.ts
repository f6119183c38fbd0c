/** How the server reaches a webhook: a URL or a Service (upstream: apiserver util/webhook/validation.go). */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goQuote } from '../../../machinery/values/go-syntax.ts'
import { portNumber, subdomain } from '../../../machinery/validation/names.ts'

const form = '; desired format: https://host[/path]'

interface UrlParts {
  readonly scheme: string
  readonly host: string
  readonly user: string | undefined
  readonly query: string
  readonly fragment: string
}

const urlForm =
  /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s

/** The parts as Go sees them, which is less forgiving and less tidy than the platform's parser; a text is its error. */
function parseUrl(text: string): UrlParts | string {
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
  return { scheme: scheme.toLowerCase(), host, user, query, fragment }
}

export function validateWebhookUrl(url: string, at: FieldPath): void {
  const parts = parseUrl(url)
  if (typeof parts === 'string') {
    at.required(`url must be a valid URL: parse ${goQuote(url)}: ${parts}${form}`)
    return
  }
  const { scheme, host, user, query, fragment } = parts
  if (scheme !== 'https') at.invalid(scheme, `'https' is the only allowed URL scheme${form}`)
  if (host === '') at.invalid(host, `host must be specified${form}`)
  if (user !== undefined) at.invalid(user, 'user information is not permitted in the URL')
  if (fragment !== '') at.invalid(fragment, 'fragments are not permitted in the URL')
  if (query !== '') at.invalid(query, 'query parameters are not permitted in the URL')
}

export interface WebhookService {
  readonly namespace?: string
  readonly name?: string
  readonly path?: string
  readonly port?: number
}

export function validateWebhookService(service: WebhookService, at: FieldPath): void {
  const { name, namespace, path, port = 0 } = service
  if (!name) at.child('name').required('service name is required')
  if (!namespace) at.child('namespace').required('service namespace is required')
  const portFaults = portNumber(port)
  if (portFaults.length > 0) {
    at.child('port').invalid(port, `port is not valid: ${portFaults.join(',')}`)
  }
  if (path !== undefined) validatePath(path, at.child('path'))
}

function validatePath(path: string, at: FieldPath): void {
  if (path === '' || path === '/') return
  if (path === '//') {
    at.invalid(path, 'segment[0] may not be empty')
    return
  }
  if (!path.startsWith('/')) at.invalid(path, "must start with a '/'")
  const steps = path.slice(1).replace(/\/$/, '').split('/')
  for (const [i, step] of steps.entries()) {
    if (step === '') at.invalid(path, `segment[${i}] may not be empty`)
    else for (const fault of subdomain(step)) at.invalid(path, `segment[${i}]: ${fault}`)
  }
}

export interface WebhookClient {
  readonly url?: string
  readonly service?: WebhookService
}

export function validateWebhookClient({ url, service }: WebhookClient, at: FieldPath): void {
  if ((url === undefined) === !service) at.required('exactly one of url or service is required')
  else if (url !== undefined) validateWebhookUrl(url, at.child('url'))
  else if (service) validateWebhookService(service, at.child('service'))
}
