/** How the server reaches a webhook: a URL or a Service (upstream: apiserver util/webhook/validation.go). */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goQuote } from '../../../machinery/values/go-syntax.ts'
import { parseGoUrl } from '../../../machinery/values/go-url.ts'
import { portNumber, subdomain } from '../../../machinery/validation/names.ts'

const form = '; desired format: https://host[/path]'

export function validateWebhookUrl(url: string, at: FieldPath): void {
  const parts = parseGoUrl(url)
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
  // Every caller upstream passes the two in the other order, so each is missed under the other's name.
  if (!namespace) at.child('name').required('service name is required')
  if (!name) at.child('namespace').required('service namespace is required')
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
