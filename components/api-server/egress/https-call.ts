/**
 * https-call: one request to a token issuer or a webhook. It is bounded in time and size, follows no redirect and uses no
 * proxy from the environment. Its errors never contain the request.
 */
import type { IncomingMessage } from 'node:http'
import { request, type Agent } from 'node:https'
import { realOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import { agentThrough, type Dial } from './egress-selector.ts'

export interface HttpsCallOptions {
  readonly clock: Clock
  /** PEM; undefined: the host's own authorities. */
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** Other than the URL's host. */
  readonly serverName?: string | undefined
  readonly insecure?: boolean
  /** Undefined: connections are direct. */
  readonly dial?: Dial | undefined
  readonly timeoutMs: number
  readonly maxBytes: number
}

export interface HttpsAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

export interface HttpsAsk {
  readonly url: string
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
}

export interface HttpsCaller {
  /** Rejects when no whole answer came: the message names the host and the cause. */
  call(ask: HttpsAsk): Promise<HttpsAnswer>
  /** No call follows: closes connections as soon as the calls under way have ended. */
  close(): void
}

function agentOf({ dial, ca, cert, key, serverName, insecure }: HttpsCallOptions): Agent {
  return agentThrough(dial, {
    keepAlive: true,
    maxSockets: 32,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: insecure !== true,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  })
}

/** Reads a whole answer. Calls `fail` with the reason when it is too large or cut short. */
function readAnswer(
  incoming: IncomingMessage,
  on: {
    maxBytes: number
    answered: (answer: HttpsAnswer) => void
    fail: (why: string, cause?: unknown) => void
  },
): void {
  const { maxBytes, answered, fail } = on
  const chunks: Buffer[] = []
  let size = 0
  incoming.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > maxBytes) fail(`the answer is larger than ${maxBytes} bytes`)
    else chunks.push(chunk)
  })
  incoming.on('error', (error) => fail(error.message, error))
  incoming.on('aborted', () => fail('the answer was cut short'))
  incoming.on('end', () =>
    answered({
      status: incoming.statusCode ?? 0,
      headers: incoming.headers,
      body: Buffer.concat(chunks),
    }),
  )
}

function exchange(
  { url, method = 'GET', headers = {}, body, signal }: HttpsAsk,
  { agent, clock, timeoutMs, maxBytes }: HttpsCallOptions & { readonly agent: Agent },
): Promise<HttpsAnswer> {
  return new Promise<HttpsAnswer>((resolve, reject) => {
    const { host } = new URL(url)
    const fail = (why: string, cause?: unknown): void => {
      cancel()
      outgoing.destroy()
      reject(new Error(`${method} https://${host}: ${why}`, { cause }))
    }
    const answered = (answer: HttpsAnswer): void => {
      cancel()
      resolve(answer)
    }
    const outgoing = request(url, {
      agent,
      method,
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
      ...(signal === undefined ? {} : { signal }),
    })
    const cancel = realOf(clock).after(timeoutMs, () =>
      fail(`no answer within ${timeoutMs / 1000} seconds`),
    )
    // After the semicolon Node gives advice for people who start it by hand.
    outgoing.on('error', (error) => fail(error.message.split(';')[0] ?? '', error))
    outgoing.on('response', (incoming) => readAnswer(incoming, { maxBytes, answered, fail }))
    outgoing.end(body)
  })
}

/** Calls over connections that are kept. */
export function createHttpsCaller(options: HttpsCallOptions): HttpsCaller {
  const agent = agentOf(options)
  let calls = 0
  let isClosed = false
  return {
    async call(ask) {
      const answer = exchange(ask, { ...options, agent })
      calls += 1
      try {
        return await answer
      } finally {
        calls -= 1
        if (isClosed && calls === 0) agent.destroy()
      }
    },
    close() {
      isClosed = true
      if (calls === 0) agent.destroy()
    },
  }
}
