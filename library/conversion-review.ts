/**
 * ConversionReviews (apiextensions v1 and v1beta1) as a webhook sees them: objects in, the handler's objects out, checked as the API
 * server checks them (upstream: apiextensions-apiserver pkg/apiserver/conversion/webhook_converter.go).
 */
import { messageOf } from '../components/component-base/log.ts'
import { found } from '../cluster/shape.ts'
import type { ConversionHandler, KubernetesObject } from './types.ts'

interface ConversionReview {
  readonly apiVersion: string
  readonly kind: string
  readonly request: {
    readonly uid: string
    readonly desiredAPIVersion: string
    readonly objects: readonly KubernetesObject[]
  }
}

/** Throws for a body that is no review with a request. */
function reviewIn(body: Buffer): ConversionReview {
  const review = JSON.parse(body.toString()) as Partial<ConversionReview> | null
  const { uid, desiredAPIVersion, objects } = review?.request ?? {}
  const isWhole = typeof uid === 'string' && typeof desiredAPIVersion === 'string'
  if (review?.kind !== 'ConversionReview' || !isWhole || !Array.isArray(objects))
    throw new Error('the body is not a ConversionReview with a request')
  return review as ConversionReview
}

/** What a conversion keeps. Read before the handler runs, which may change the object in place. */
interface Kept {
  readonly kind: string
  readonly name: string
  readonly namespace: string
  readonly uid: string
}

function keptOf({ kind = '', metadata = {} }: Partial<KubernetesObject>): Kept {
  const { name = '', namespace = '', uid = '' } = metadata
  return { kind, name, namespace, uid }
}

/** Throws an Error that says what is wrong with the handler's object. */
function checkConverted(converted: unknown, before: Kept, apiVersion: string): void {
  const place = before.namespace === '' ? before.name : `${before.namespace}/${before.name}`
  const what = `the conversion of ${before.kind} ${place} to ${apiVersion}`
  if (typeof converted !== 'object' || converted === null || Array.isArray(converted))
    throw new Error(`${what} gave ${found(converted)}: return the converted object`)
  const object = converted as KubernetesObject
  if (object.apiVersion !== apiVersion)
    throw new Error(
      `${what} gave apiVersion ${found(object.apiVersion)}: set it to the handler's second argument`,
    )
  const after = keptOf(object)
  for (const [field, path] of [
    ['kind', 'kind'],
    ['name', 'metadata.name'],
    ['namespace', 'metadata.namespace'],
    ['uid', 'metadata.uid'],
  ] as const) {
    if (after[field] === before[field]) continue
    throw new Error(`${what} changed ${path} to ${found(after[field])}: leave it as it is`)
  }
}

/** One after the other, in their order. Rejects with what the handler throws, and for an object that no API server takes. */
async function convertAll(
  { objects, desiredAPIVersion }: ConversionReview['request'],
  handler: ConversionHandler,
): Promise<KubernetesObject[]> {
  const converted: KubernetesObject[] = []
  for (const object of objects) {
    const before = keptOf(object)
    const one = await handler(object, desiredAPIVersion)
    checkConverted(one, before, desiredAPIVersion)
    converted.push(one)
  }
  return converted
}

/**
 * The review that answers the one in `body`. The first object that fails makes all of it fail, with its message; `failed` gets the
 * error. Rejects for a body that is no review.
 */
export async function answerConversion(
  body: Buffer,
  handler: ConversionHandler,
  failed: (error: unknown) => void,
): Promise<unknown> {
  const { apiVersion, kind, request } = reviewIn(body)
  const { uid } = request
  try {
    const convertedObjects = await convertAll(request, handler)
    const response = { uid, convertedObjects, result: { status: 'Success' } }
    return { apiVersion, kind, response }
  } catch (error) {
    failed(error)
    const result = { status: 'Failure', message: messageOf(error) || 'the handler failed' }
    return { apiVersion, kind, response: { uid, convertedObjects: [], result } }
  }
}
