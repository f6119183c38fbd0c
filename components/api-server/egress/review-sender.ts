/** ReviewSender: posts reviews to webhooks, once each, over connections that are kept. Errors have upstream's wording. */
import { posix } from 'node:path'
import type { ServiceReference } from '../../api/generated/types.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { Dial } from './egress-selector.ts'
import { createHttpsCaller, type HttpsAnswer, type HttpsCaller } from './https-call.ts'
import { networkFault } from './network-fault.ts'
import { serviceAddress } from './service-address.ts'

const mostAnswerBytes = 3 * 1024 * 1024
const defaultPort = 443

/** How a webhook is reached: by `url` or by `service`. */
export interface ReviewTarget {
  readonly url: string | undefined
  readonly service: ServiceReference | undefined
  /** PEM; undefined: the host's own authorities. */
  readonly ca: string | undefined
  readonly timeoutMs: number
}

/** What the server shows of itself to a webhook: a certificate (PEM), a bearer token, both or neither. */
export interface Credentials {
  readonly cert?: string
  readonly key?: string
  readonly token?: string
}

/** The credentials for `host:port`. */
export type CredentialsFor = (target: string) => Credentials

/** A call without a usable answer. `code` is the HTTP status, or 0; `why` is the message without its prefix. */
export class WebhookCallError extends Error {
  readonly code: number
  readonly why: string

  constructor(why: string, more: { code?: number; cause?: unknown; prefix?: string } = {}) {
    super(`${more.prefix ?? ''}${why}`, { cause: more.cause })
    this.why = why
    this.code = more.code ?? 0
  }
}

const prefix = 'failed to call webhook: '

export interface ReviewSender {
  /** The answer's JSON. Rejects with WebhookCallError. */
  send(webhook: ReviewTarget, review: unknown): Promise<unknown>
  /** Closes connections to all webhooks but these, once their calls have ended. */
  keep(webhooks: readonly ReviewTarget[]): void
}

interface Target {
  /** As messages show it. */
  readonly url: string
  readonly path: string
  address(): string
}

/** Why no answer came, in Go's words where we know them. */
function failureText(error: Error): string {
  if (/no answer within/.test(error.message)) return 'context deadline exceeded'
  return networkFault(error.cause) ?? error.message.replace(/^POST https:\/\/[^ ]+: /, '')
}

const statusTexts: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
}
const shownBytes = 256

function statusText({ status, body }: HttpsAnswer): string {
  const shown = JSON.stringify(body.subarray(0, shownBytes).toString().trim() || 'unknown')
  const known = statusTexts[status]
  if (known !== undefined) return known
  if (status >= 500)
    return `an error on the server (${shown}) has prevented the request from succeeding`
  return `the server responded with the status code ${status} but did not return more information`
}

/** How the server connects to webhooks: those of services by `cluster`, those of URLs by `controlplane`; undefined is directly. */
export interface WebhookEgress {
  readonly cluster: Dial | undefined
  readonly controlplane: Dial | undefined
}

export interface ReviewSenderOptions {
  readonly reader: ObjectReader
  readonly services: Resource
  readonly endpoints: Resource
  readonly clock: Clock
  readonly egress: WebhookEgress
  /** Default: none are shown. */
  readonly credentials?: CredentialsFor | undefined
  /** The largest answer; default: that of admission reviews. */
  readonly maxAnswerBytes?: number
}

/** As client-go joins it (rest/request.go): Go servers redirect a request whose path is not clean. */
function cleanPath(path: string): string {
  const joined = posix.join('/', path)
  return joined.length > 1 && joined.endsWith('/') ? joined.slice(0, -1) : joined
}

function targetOf({ url, service }: ReviewTarget, options: ReviewSenderOptions): Target {
  if (service === undefined) {
    const { pathname, origin } = new URL(url ?? '')
    return { url: url ?? '', path: cleanPath(pathname), address: () => origin }
  }
  const { namespace, name, path = '/', port = defaultPort } = service
  return {
    url: `https://${serverNameOf(service)}:${port}${path === '' ? '/' : path}`,
    path: cleanPath(path),
    address: () => {
      const random = () => options.clock.random()
      const found = serviceAddress({ namespace, name, port }, { ...options, random })
      const host = found.host.includes(':') ? `[${found.host}]` : found.host
      return `https://${host}:${found.port}`
    },
  }
}

/** `host:port`, as credentials name it. */
function credentialTarget({ url, service }: ReviewTarget): string {
  if (service !== undefined) return `${serverNameOf(service)}:${service.port ?? defaultPort}`
  const { hostname, port } = new URL(url ?? '')
  return `${hostname}:${port === '' ? defaultPort : port}`
}

function serverNameOf({ name, namespace }: ServiceReference): string {
  return `${name}.${namespace}.svc`
}

interface Callers {
  of(webhook: ReviewTarget): HttpsCaller
  keep(webhooks: readonly ReviewTarget[]): void
}

/** Callers with their connections, one for the webhooks of the same CA, server name and timeout. */
function createCallers(options: ReviewSenderOptions): Callers {
  const { clock, egress, maxAnswerBytes, credentials } = options
  const callers = new Map<string, HttpsCaller>()
  const keyOf = (webhook: ReviewTarget): string => {
    const { ca, service, timeoutMs } = webhook
    const identity = credentials === undefined ? undefined : credentialTarget(webhook)
    return JSON.stringify([ca, service && serverNameOf(service), timeoutMs, identity])
  }

  function open(webhook: ReviewTarget): HttpsCaller {
    const { ca, service, timeoutMs } = webhook
    const serverName = service && serverNameOf(service)
    const { cert, key } = credentials?.(credentialTarget(webhook)) ?? {}
    const dial = service === undefined ? egress.controlplane : egress.cluster
    const maxBytes = maxAnswerBytes ?? mostAnswerBytes
    return createHttpsCaller({ clock, ca, cert, key, serverName, timeoutMs, maxBytes, dial })
  }

  return {
    of(webhook) {
      const key = keyOf(webhook)
      let caller = callers.get(key)
      if (caller === undefined) {
        caller = open(webhook)
        callers.set(key, caller)
      }
      return caller
    },
    keep(webhooks) {
      const used = new Set(webhooks.map(keyOf))
      for (const [key, caller] of callers) {
        if (used.has(key)) continue
        callers.delete(key)
        caller.close()
      }
    },
  }
}

/** The review of a successful answer. Throws WebhookCallError for any other. */
function reviewIn(answer: HttpsAnswer): unknown {
  const { status, body } = answer
  if (status < 200 || status > 206) {
    throw new WebhookCallError(statusText(answer), { code: status, prefix })
  }
  try {
    return JSON.parse(body.toString()) as unknown
  } catch (error) {
    const why = "couldn't get version/kind; json parse error"
    throw new WebhookCallError(why, { cause: error, prefix })
  }
}

export function createReviewSender(options: ReviewSenderOptions): ReviewSender {
  const callers = createCallers(options)

  async function post(
    webhook: ReviewTarget,
    { target, body }: { target: Target; body: string },
  ): Promise<HttpsAnswer> {
    const token = options.credentials?.(credentialTarget(webhook)).token
    return await callers.of(webhook).call({
      url: `${target.address()}${target.path}?timeout=${webhook.timeoutMs / 1000}s`,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        host: new URL(target.url).host,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body,
    })
  }

  return {
    async send(webhook, review) {
      const target = targetOf(webhook, options)
      let answer: HttpsAnswer
      try {
        answer = await post(webhook, { target, body: JSON.stringify(review) })
      } catch (error) {
        const shown = `Post "${target.url}?timeout=${webhook.timeoutMs / 1000}s"`
        const why = error instanceof Error ? failureText(error) : String(error)
        throw new WebhookCallError(`${shown}: ${why}`, { cause: error, prefix })
      }
      return reviewIn(answer)
    },
    keep: (webhooks) => callers.keep(webhooks),
  }
}
