/** One request to a server of this process, and its answer, without a connection: the server sees what it would see over one. */
import { X509Certificate } from 'node:crypto'
import type { RequestHandler } from '../component-base/answering.ts'
import { RequestAbortedError } from '../component-base/http.ts'
import type { Answer, HttpRequest, PeerCertificate, ResponseSink } from '../component-base/http.ts'
import { ConnectionError } from './connection-error.ts'
import { cutShort } from './rest-exchange.ts'
import type { Exchange, Head } from './rest-exchange.ts'
import type { ClientCertificate } from './rest-session.ts'

interface LocalExchange extends Exchange {
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal
  readonly credentials: ClientCertificate
}

/** More than this waits for the reader. */
const highWaterBytes = 1_048_576

const peers = new WeakMap<ClientCertificate, PeerCertificate>()

/** What the server's TLS would have read; the same value for the same credentials, which may key a cache. */
function peerOf(credentials: ClientCertificate): PeerCertificate | undefined {
  if (credentials.cert === undefined) return undefined
  const known = peers.get(credentials)
  if (known !== undefined) return known
  const blocks = credentials.cert
    .toString()
    .match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)
  const [der, ...intermediates] = (blocks ?? []).map((block) => new X509Certificate(block).raw)
  if (der === undefined) return undefined
  const peer = { der, intermediates }
  peers.set(credentials, peer)
  return peer
}

/** One for all: at the end of a cluster hundreds of watches are left at once, and a stack for each would say the same. */
const clientWent = new RequestAbortedError('the client went away')

/** The client's end of an exchange: whether it has gone. Most requests never ask for its signal. */
class ClientEnd {
  #abort: AbortController | undefined
  #gone = false

  get signal(): AbortSignal {
    this.#abort ??= new AbortController()
    if (this.#gone) this.#abort.abort(clientWent)
    return this.#abort.signal
  }

  leave(): void {
    this.#gone = true
    this.#abort?.abort(clientWent)
  }
}

function requestOf(sent: LocalExchange, end: ClientEnd): HttpRequest {
  const { server, payload = Buffer.alloc(0), credentials } = sent
  const headers: Record<string, string> = { host: new URL(server).host }
  for (const [name, value] of Object.entries(sent.headers)) headers[name] = String(value)
  return {
    method: headers[':method'] ?? 'GET',
    url: headers[':path'] ?? '/',
    headers,
    values: (name) => (headers[name] === undefined ? [] : [headers[name]]),
    remoteAddress: '127.0.0.1',
    peer: peerOf(credentials),
    body: async () => payload,
    get signal() {
      return end.signal
    },
  }
}

/** What the server has written and the client has not read yet. */
class Pipe implements ResponseSink {
  readonly signal: AbortSignal
  readonly #chunks: { readonly bytes: Buffer; readonly onSent: (() => void) | undefined }[] = []
  #bytes = 0
  #readable = Promise.withResolvers<void>()
  #drained = Promise.withResolvers<void>()

  constructor(signal: AbortSignal) {
    this.signal = signal
    signal.addEventListener('abort', () => this.wake(), { once: true })
  }

  get buffered(): number {
    return this.#bytes
  }

  write(bytes: Buffer, onSent?: () => void): boolean {
    if (this.signal.aborted) return false
    this.#chunks.push({ bytes, onSent })
    this.#bytes += bytes.length
    this.#readable.resolve()
    return this.#bytes < highWaterBytes
  }

  async drained(): Promise<void> {
    while (this.#bytes >= highWaterBytes && !this.signal.aborted) {
      this.#drained = Promise.withResolvers()
      await this.#drained.promise
    }
    if (this.signal.aborted) throw new RequestAbortedError('the client went away')
  }

  /** Lets whoever waits look again. */
  wake(): void {
    this.#readable.resolve()
    this.#drained.resolve()
  }

  /** The chunks until `ended` says so and all are read. */
  async *read(ended: () => boolean): AsyncGenerator<Buffer, void> {
    for (;;) {
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) {
        const { bytes, onSent } = chunk
        this.#bytes -= bytes.length
        this.#drained.resolve()
        // Once sent, its writer may write to it again.
        const taken = onSent === undefined ? bytes : Buffer.from(bytes)
        onSent?.()
        yield taken
      } else if (ended() || this.signal.aborted) return
      else {
        this.#readable = Promise.withResolvers()
        await this.#readable.promise
      }
    }
  }
}

function headOf(
  answer: Answer,
  sent: LocalExchange,
  { end, release }: { readonly end: ClientEnd; readonly release: () => void },
): Head {
  const { server, signal, closing } = sent
  const { status, headers } = answer
  const check = (): void => {
    signal?.throwIfAborted()
    closing.throwIfAborted()
  }
  const chunks = async function* (): AsyncGenerator<Buffer, void> {
    if (typeof answer.body !== 'function') {
      yield answer.body
      return
    }
    const pipe = new Pipe(end.signal)
    let outcome: 'open' | 'whole' | 'cut' = 'open'
    const settle = (how: 'whole' | 'cut'): void => {
      outcome = how
      pipe.wake()
    }
    answer.body(pipe).then(
      () => settle('whole'),
      () => settle('cut'),
    )
    try {
      yield* pipe.read(() => outcome !== 'open')
      check()
      // TypeScript does not see that it has changed.
      if ((outcome as string) !== 'whole') throw cutShort(server)
    } finally {
      release()
      if ((outcome as string) === 'open') end.leave()
    }
  }
  const body = async (): Promise<Buffer> => {
    if (typeof answer.body !== 'function') return answer.body
    const parts: Buffer[] = []
    for await (const chunk of chunks()) parts.push(chunk)
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
  }
  return { status, headers, body, chunks }
}

/** As `exchange`. */
export async function localExchange(handler: RequestHandler, sent: LocalExchange): Promise<Head> {
  const { server, timeoutMs, signal, closing, clock } = sent
  const end = new ClientEnd()
  const given = Promise.withResolvers<never>()
  const giveUp = (why: unknown): void => {
    given.reject(why as Error)
    end.leave()
  }
  const onAbort = (): void => giveUp(signal?.reason)
  const onClose = (): void => giveUp(closing.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  closing.addEventListener('abort', onClose, { once: true })
  const release = (): void => {
    signal?.removeEventListener('abort', onAbort)
    closing.removeEventListener('abort', onClose)
  }
  const cancel = clock.after(timeoutMs, () =>
    giveUp(new ConnectionError('timeout', `${server}: no answer in time`)),
  )
  try {
    const answering = handler(requestOf(sent, end))
    const answer = await Promise.race([answering, given.promise])
    if (typeof answer.body !== 'function') release()
    return headOf(answer, sent, { end, release })
  } catch (error) {
    release()
    signal?.throwIfAborted()
    if (error instanceof ConnectionError) throw error
    throw new ConnectionError('lost', `${server}: the connection was lost`, error)
  } finally {
    cancel()
  }
}
