/** AdmissionReviews (admission v1) as a webhook sees them: the request in, the handler's answer out (upstream: k8s.io/api/admission/v1). */
import { jsonPatchBetween } from '../components/machinery/patch/json-patch-between.ts'
import type {
  AdmissionAnswer,
  AdmissionHandler,
  AdmissionRequest,
  WebhookOptions,
} from './types.ts'

interface AdmissionReview {
  readonly apiVersion: string
  readonly kind: string
  readonly request: AdmissionRequest
}

/** The request of a review. Throws for a body that is none. */
function reviewIn(body: Buffer): AdmissionReview {
  const review = JSON.parse(body.toString()) as Partial<AdmissionReview> | null
  if (review?.kind !== 'AdmissionReview' || typeof review.request?.uid !== 'string')
    throw new Error('the body is not an AdmissionReview with a request')
  return review as AdmissionReview
}

/** The operations that the answer asks for; undefined for none. `before` is the object as the API server sent it. */
function patchOf(
  answer: NonNullable<AdmissionAnswer>,
  before: unknown,
): readonly unknown[] | undefined {
  const { object, patch } = answer
  if (object !== undefined && patch !== undefined)
    throw new Error('the handler answered with both object and patch: give one of them')
  // As it crosses the wire: fields that are undefined are absent.
  const after = object === undefined ? before : (JSON.parse(JSON.stringify(object)) as unknown)
  const operations = patch ?? jsonPatchBetween(before, after)
  return operations.length === 0 ? undefined : operations
}

function responseOf(
  uid: string,
  answer: AdmissionAnswer,
  kind: WebhookOptions['kind'],
  before: unknown,
) {
  const { allowed = true, message, code, warnings } = answer ?? {}
  const operations = answer === undefined || !allowed ? undefined : patchOf(answer, before)
  if (operations !== undefined && kind === 'validating')
    throw new Error('the handler of a validating webhook changed the object: use kind mutating')
  const status = {
    ...(message === undefined ? {} : { message }),
    ...(code === undefined ? {} : { code }),
  }
  return {
    uid,
    allowed,
    ...(Object.keys(status).length === 0 ? {} : { status }),
    ...(warnings === undefined ? {} : { warnings }),
    ...(operations === undefined
      ? {}
      : {
          patchType: 'JSONPatch',
          patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
        }),
  }
}

/**
 * The review that answers the one in `body`. The handler may change the object of its request in place. Rejects with what the
 * handler throws, and for an answer that no API server takes.
 */
export async function answerReview(
  body: Buffer,
  kind: WebhookOptions['kind'],
  handler: AdmissionHandler,
): Promise<unknown> {
  const { apiVersion, request } = reviewIn(body)
  const before = structuredClone(request.object)
  const answer = await handler(request)
  return {
    apiVersion,
    kind: 'AdmissionReview',
    response: responseOf(request.uid, answer, kind, before),
  }
}
