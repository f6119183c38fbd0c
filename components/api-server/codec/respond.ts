/** respond: results and errors -> answers. The one place where an error becomes a Status on the wire. */
import { BodyTooLargeError, RequestAbortedError } from '../../component-base/http.ts'
import { internalError, StatusError } from '../../machinery/objects/status-error.ts'
import { StoreError, type StoreErrorCode } from '../../store/store.ts'
import { encodeValue } from './encode-value.ts'
import type { Form } from '../encoding/form.ts'
import { chosen, mediaTypeOf, negotiate, viewsOf, wantsPretty, type Offer } from './negotiate.ts'
import type { Answer, RequestContext } from '../request/request.ts'
import { UndecodableError } from '../watch-cache/unreadable.ts'

/** What any value can be written as, if it has a type. */
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

/** An answer in the form that was negotiated: nobody encodes it again. */
export interface FormedAnswer extends Answer {
  readonly isFormed: true
}

/** An answer of another server: it passes as it comes, when it comes. */
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

/** An answer from a value, as JSON until it is known what the client accepts. */
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

/** Throws 406 when the client accepts nothing that a value can be written as, as a Table or otherwise. */
export function checkAcceptable(context: RequestContext, as: { hasTable: boolean }): void {
  negotiate(context, { ...offerTo(context), views: viewsOf(as) })
}

/** Writes a value that was answered as JSON in the encoding the client accepts, if it has such a form. */
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

/** Whether a thrown value is no answer that anybody meant to give: a bug. */
export function isUnforeseen(error: unknown): boolean {
  const known = [StatusError, BodyTooLargeError, RequestAbortedError, UndecodableError, StoreError]
  return !known.some((one) => error instanceof one)
}

/** Upstream passes on what etcd answers (etcd: api/v3rpc/rpctypes/error.go), as 500 without a reason. */
const toldBy: Partial<Record<StoreErrorCode, string>> = {
  'no-space': 'etcdserver: mvcc: database space exceeded',
  damaged: 'etcdserver: corrupt cluster',
}

/** What clients see of it. */
export function storeErrorText(error: StoreError): string {
  // What comes before names a file of the server, which is for its log only.
  return toldBy[error.code] ?? error.message.split(': ').at(-1) ?? ''
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
  if (error instanceof UndecodableError) {
    return internalError("couldn't get version/kind; json parse error", error)
  }
  if (error instanceof StoreError) {
    if (error.code === 'compacted') {
      return new StatusError('Expired', 'The resourceVersion for the provided list is too old.')
    }
    const text = storeErrorText(error)
    if (error.code in toldBy) return new StatusError('', text, { cause: error })
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
