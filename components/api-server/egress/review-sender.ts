/** ReviewSender: posts reviews to webhooks, once each, over connections that are kept; its errors read as upstream's. */
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

/** How a webhook is reached: one of `url` and `service` is there. */
export interface ReviewTarget {
  readonly url: string | undefined
  readonly service: ServiceReference | undefined
  /** PEM; undefined: the host's own authorities. */
  readonly ca: string | undefined
  readonly timeoutMs: number
}

/** A call that gave no usable answer. `code` is the HTTP status, 0 when there was none; `why` is the message without its beginning. */
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
  readonly serverName: string | undefined
  address(): string
}

/** Why no answer came, in Go's words where they are known. */
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

/** Ways out of the server, by what a webhook is; undefined: straight. */
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
  /** Of one answer; unset: what admission reviews may take. */
  readonly maxAnswerBytes?: number
}

export function createReviewSender(options: ReviewSenderOptions): ReviewSender {
  const { clock, egress, maxAnswerBytes } = options
  const callers = new Map<string, HttpsCaller>()

  function targetOf({ url, service }: ReviewTarget): Target {
    if (service === undefined) {
      const { pathname, origin } = new URL(url ?? '')
      return { url: url ?? '', path: pathname, serverName: undefined, address: () => origin }
    }
    const { namespace, name, path = '/', port = defaultPort } = service
    const serverName = `${name}.${namespace}.svc`
    return {
      url: `https://${serverName}:${port}${path === '' ? '/' : path}`,
      path: path === '' ? '/' : path,
      serverName,
      address: () => {
        const random = () => clock.random()
        const found = serviceAddress({ namespace, name, port }, { ...options, random })
        const host = found.host.includes(':') ? `[${found.host}]` : found.host
        return `https://${host}:${found.port}`
      },
    }
  }

  function keyOf(webhook: ReviewTarget): string {
    return JSON.stringify([webhook.ca, targetOf(webhook).serverName, webhook.timeoutMs])
  }

  function callerOf(webhook: ReviewTarget, serverName: string | undefined): HttpsCaller {
    const key = keyOf(webhook)
    let caller = callers.get(key)
    if (caller === undefined) {
      const { ca, timeoutMs } = webhook
      const dial = serverName === undefined ? egress.controlplane : egress.cluster
      const more = { ca, serverName, timeoutMs, maxBytes: maxAnswerBytes ?? mostAnswerBytes, dial }
      caller = createHttpsCaller({ clock, ...more })
      callers.set(key, caller)
    }
    return caller
  }

  async function post(webhook: ReviewTarget, target: Target, body: string): Promise<HttpsAnswer> {
    return await callerOf(webhook, target.serverName).call({
      url: `${target.address()}${target.path}?timeout=${webhook.timeoutMs / 1000}s`,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        host: new URL(target.url).host,
      },
      body,
    })
  }

  return {
    async send(webhook, review) {
      const target = targetOf(webhook)
      let answer: HttpsAnswer
      try {
        answer = await post(webhook, target, JSON.stringify(review))
      } catch (error) {
        const shown = `Post "${target.url}?timeout=${webhook.timeoutMs / 1000}s"`
        const why = error instanceof Error ? failureText(error) : String(error)
        throw new WebhookCallError(`${shown}: ${why}`, { cause: error, prefix })
      }
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
