/** respond: results and errors become answers. An error becomes a Status here and nowhere else. */
import { BodyTooLargeError, RequestAbortedError } from '../../component-base/http.ts'
import { internalError, StatusError } from '../../machinery/objects/status-error.ts'
import { StoreError, type StoreErrorCode } from '../../store/store.ts'
import { encodeValue } from './encode-value.ts'
import type { Form } from '../encoding/form.ts'
import { chosen, mediaTypeOf, negotiate, viewsOf, wantsPretty, type Offer } from './negotiate.ts'
import type { Answer, RequestContext } from '../request/request.ts'
import { UndecodableError } from '../watch-cache/unreadable.ts'

/** The encodings of any value that has a kind. */
const valueOffer: Offer = {
  encodings: ['json', 'yaml', 'protobuf'],
  views: [],
  isStream: false,
}

const valueOfferWithCbor: Offer = {
  ...valueOffer,
  encodings: [...valueOffer.encodings, 'cbor'],
}

const json = { 'content-type': 'application/json', 'cache-control': 'no-cache, private' }

/** An answer in the form that was negotiated. It is not encoded again. */
export interface FormedAnswer extends Answer {
  readonly isFormed: true
}

/** An answer of another server. It is passed on unchanged, without buffering. */
export interface ForwardedAnswer extends FormedAnswer {
  readonly isForwarded: true
}

export function answerForm(
  status: number,
  form: Pick<Form, 'mediaType'>,
  body: Answer['body'],
): FormedAnswer {
  const headers = { 'content-type': form.mediaType, 'cache-control': 'no-cache, private' }
  return { status, headers, body, isFormed: true }
}

/** An answer from a value, as JSON until `reformed` encodes it as the client accepts it. */
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

function offerTo({ cbor }: RequestContext): Offer {
  return cbor === undefined ? valueOffer : valueOfferWithCbor
}

/** Throws 406 when the client accepts no encoding of a value, or of a Table where there is one. */
export function checkAcceptable(context: RequestContext, as: { hasTable: boolean }): void {
  negotiate(context, { ...offerTo(context), views: viewsOf(as) })
}

/** Encodes a value that was answered as JSON as the client accepts it. Other answers stay as they are. */
export async function reformed(answer: Answer, context: RequestContext): Promise<Answer> {
  const { headers, body } = answer
  if ('isFormed' in answer || headers['content-type'] !== json['content-type']) return answer
  const { dialect, http } = context
  const choice = chosen(http.headers['accept'], offerTo(context), dialect)
  if (typeof choice === 'string' || !Buffer.isBuffer(body)) return answer
  const pretty = choice.pretty || wantsPretty(context)
  if (choice.encoding === 'json' && !pretty) return answer
  const value = JSON.parse(body.toString()) as Record<string, unknown>
  const encoded = await encodeValue(value, { ...choice, pretty }, context)
  if (encoded === undefined) return answer
  // An entity tag names the bytes it came with.
  const { etag: _, ...kept } = headers
  const type = mediaTypeOf(choice.encoding, dialect)
  return { ...answer, headers: { ...kept, 'content-type': type }, body: encoded }
}

/** Whether a thrown value is a bug: no error that this server throws on purpose. */
export function isUnforeseen(error: unknown): boolean {
  const known = [StatusError, BodyTooLargeError, RequestAbortedError, UndecodableError, StoreError]
  return !known.some((one) => error instanceof one)
}

/** Errors of etcd that upstream passes on (etcd: api/v3rpc/rpctypes/error.go), as 500 without a reason. */
const etcdErrors: Partial<Record<StoreErrorCode, string>> = {
  'no-space': 'etcdserver: mvcc: database space exceeded',
  damaged: 'etcdserver: corrupt cluster',
}

/** The text of a store's error for clients. */
export function storeErrorText(error: StoreError): string {
  return etcdErrors[error.code] ?? error.reason
}

/** Any thrown value as the StatusError that the client sees. A bug becomes a 500 without details. */
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
  if (error instanceof UndecodableError) {
    return internalError("couldn't get version/kind; json parse error", error)
  }
  if (error instanceof StoreError) {
    if (error.code === 'compacted') {
      return new StatusError('Expired', 'The resourceVersion for the provided list is too old.')
    }
    const text = storeErrorText(error)
    if (error.code in etcdErrors) return new StatusError('', text, { cause: error })
    return internalError(`storage: ${text}`, error)
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
