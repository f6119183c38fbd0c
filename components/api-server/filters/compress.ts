/** compress: sends answers of more than 128 KB as gzip to clients that accept it, except watches (upstream: writers.go). */
import { once } from 'node:events'
import { promisify } from 'node:util'
import { createGzip, gzip } from 'node:zlib'
import type { Answer, Filter, RequestContext, ResponseSink } from '../request/request.ts'
import { isLongRunning } from '../request/long-running.ts'

/** Compressing shorter answers costs more than it saves. */
const leastBytes = 128 * 1024

/** The fastest level, as upstream. */
const fast = { level: 1 }

const gzipped = promisify<Buffer, typeof fast, Buffer>(gzip)

/** `gzip`, with or without a quality, but not `gzip;q=0`. */
const acceptsGzip = /(?:^|,)\s*gzip\s*(?:;\s*q=(?:1(?:\.0*)?|0?\.\d*[1-9]\d*)\s*)?(?:,|$)/

function isCompressible({ http }: RequestContext, answer: Answer): boolean {
  const accepted = [http.headers['accept-encoding'] ?? ''].flat().join(',')
  return acceptsGzip.test(accepted) && answer.headers['content-encoding'] === undefined
}

function encodedHeaders({ headers }: Answer): Answer['headers'] {
  const { 'content-length': _, vary, ...rest } = headers
  return {
    ...rest,
    'content-encoding': 'gzip',
    vary: [vary ?? [], 'Accept-Encoding'].flat().join(', '),
  }
}

type Streamed = Exclude<Answer['body'], Buffer>

/** Buffers an answer until its target is known, then passes it on. */
class Probe implements ResponseSink {
  readonly signal: AbortSignal
  /** Resolves once there is enough to compress. */
  readonly isLarge: Promise<void>
  #nowLarge: () => void
  #held: Buffer[] = []
  #bytes = 0
  readonly #attached = Promise.withResolvers<void>()
  #target: Pick<ResponseSink, 'write' | 'drained'> | undefined

  constructor(signal: AbortSignal) {
    this.signal = signal
    const { promise, resolve } = Promise.withResolvers<void>()
    this.isLarge = promise
    this.#nowLarge = resolve
    // A client that leaves before it takes the answer must not leave a writer waiting.
    this.#attached.promise.catch(() => {})
    signal.addEventListener('abort', () => this.#attached.reject(signal.reason), { once: true })
  }

  get buffered(): number {
    return this.#bytes
  }

  write(chunk: Buffer): boolean {
    if (this.#target !== undefined) return this.#target.write(chunk)
    this.#held.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes <= leastBytes) return true
    this.#nowLarge()
    return false
  }

  async drained(): Promise<void> {
    if (this.#target !== undefined) return await this.#target.drained()
    await this.#attached.promise
  }

  /** The bytes buffered so far. */
  take(): Buffer {
    const held = Buffer.concat(this.#held)
    this.#held = []
    this.#bytes = 0
    return held
  }

  attach(target: Pick<ResponseSink, 'write' | 'drained'>): void {
    target.write(this.take())
    this.#target = target
    this.#attached.resolve()
  }
}

/** Runs the body through a compressor into the real sink. */
async function sendCompressed(
  probe: Probe,
  done: Promise<void>,
  sink: ResponseSink,
): Promise<void> {
  const compressor = createGzip(fast)
  compressor.on('error', () => {
    // The promise for its end rejects with the same error.
  })
  compressor.on('data', (chunk: Buffer) => {
    if (sink.write(chunk)) return
    compressor.pause()
    sink.drained().then(
      () => compressor.resume(),
      (error: unknown) => compressor.destroy(error as Error),
    )
  })
  const ended = once(compressor, 'end')
  ended.catch(() => {})
  probe.attach({
    write: (chunk) => compressor.write(chunk),
    drained: async () => {
      if (compressor.writableNeedDrain) await once(compressor, 'drain')
    },
  })
  try {
    await done
    compressor.end()
    await ended
  } finally {
    compressor.destroy()
  }
}

async function compressStream(
  context: RequestContext,
  answer: Answer,
  body: Streamed,
): Promise<Answer> {
  const probe = new Probe(context.http.signal)
  const done = body(probe)
  await Promise.race([done, probe.isLarge])
  if (probe.buffered <= leastBytes) return { ...answer, body: probe.take() }
  // The body of the answer rejects with the same error.
  done.catch(() => {})
  return {
    ...answer,
    headers: encodedHeaders(answer),
    body: (sink) => sendCompressed(probe, done, sink),
  }
}

export const compress: Filter = async (context, next) => {
  const answer = await next(context)
  const { body } = answer
  if (Buffer.isBuffer(body) && body.length <= leastBytes) return answer
  if (isLongRunning(context) || 'isForwarded' in answer) return answer
  if (!isCompressible(context, answer)) return answer
  if (!Buffer.isBuffer(body)) return await compressStream(context, answer, body)
  return { ...answer, headers: encodedHeaders(answer), body: await gzipped(body, fast) }
}
