/** respond: results and errors -> answers. The one place where an error becomes a Status on the wire. */
import { dump } from './yaml.ts'
import { BodyTooLargeError, RequestAbortedError } from '../component-base/http.ts'
import { internalError, StatusError } from '../machinery/status-error.ts'
import { StoreError } from '../store/store.ts'
import type { Answer } from './request.ts'

const json = { 'content-type': 'application/json', 'cache-control': 'no-cache, private' }

/** An answer from bytes that are JSON already. */
export function answerBytes(status: number, body: Buffer): Answer {
  return { status, headers: json, body }
}

/** An answer from a value; for what is not kept as bytes. */
export function answerJson(status: number, value: unknown): Answer {
  return { status, headers: json, body: Buffer.from(`${JSON.stringify(value)}\n`) }
}

export function answerText(status: number, text: string): Answer {
  return {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
    body: Buffer.from(text),
  }
}

/** All bytes of an answer, those of a streamed one too. */
async function wholeBody({ body }: Answer, signal: AbortSignal): Promise<Buffer> {
  if (Buffer.isBuffer(body)) return body
  const chunks: Buffer[] = []
  await body({
    write: (chunk) => chunks.push(chunk) > 0,
    drained: () => Promise.resolve(),
    buffered: 0,
    signal,
  })
  return Buffer.concat(chunks)
}

/** Rewrites a JSON answer as YAML or indented JSON, when the client asked for it. Not for streams without an end. */
export async function restyle(
  answer: Answer,
  style: 'yaml' | 'pretty',
  signal: AbortSignal,
): Promise<Answer> {
  const value: unknown = JSON.parse((await wholeBody(answer, signal)).toString())
  const text = style === 'yaml' ? dump(value) : `${JSON.stringify(value, null, 2)}\n`
  const type = style === 'yaml' ? 'application/yaml' : 'application/json'
  return {
    ...answer,
    headers: { ...answer.headers, 'content-type': type },
    body: Buffer.from(text),
  }
}

/** Any thrown value as the StatusError the client sees. What is not a known error is a bug: bare 500. */
export function asStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error
  if (error instanceof BodyTooLargeError) {
    return new StatusError(
      'RequestEntityTooLarge',
      `Request entity too large: limit is ${error.maxBytes}`,
      { details: {}, cause: error },
    )
  }
  if (error instanceof RequestAbortedError) {
    return new StatusError('Timeout', error.message, { code: 408, cause: error })
  }
  if (error instanceof StoreError) {
    if (error.code === 'compacted') {
      return new StatusError('Expired', 'The resourceVersion for the provided list is too old.')
    }
    return internalError(`etcdserver: ${error.message}`, error)
  }
  return internalError('the server could not complete the request', error)
}

/** The answer to a failed request: a Status body, with Retry-After where the error says so. */
export function answerError(error: StatusError): Answer {
  const seconds = error.details?.retryAfterSeconds
  const answer = answerJson(error.code, error.toStatus())
  if (seconds === undefined || seconds <= 0) return answer
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(seconds) } }
}
