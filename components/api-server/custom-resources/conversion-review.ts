/**
 * ConversionReview: what a service that converts custom resources is asked, and what of its answer is taken: everything but
 * the metadata, of which only labels and annotations may change (upstream: apiextensions-apiserver pkg/apiserver/conversion).
 */
import { isRecord } from '../../machinery/apply/apply-shape.ts'
import { copyJson } from '../../machinery/values/json-copy.ts'
import type { KubeObject, ObjectMeta } from '../../machinery/objects/object.ts'
import { validateObjectMeta } from '../../machinery/validation/object-meta-validation.ts'

const kind = 'ConversionReview'

/** `group/version, Kind=Kind`: how messages name what an object is. */
export function kindText({ apiVersion = '', kind: name = '' }: KubeObject): string {
  return `${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${name}`
}

export interface Asked {
  /** Of the review itself. */
  readonly apiVersion: string
  readonly uid: string
  readonly objects: readonly KubeObject[]
  readonly desiredApiVersion: string
}

/** The review, in upstream's order of fields. The store alone knows resourceVersions, so services do not see them. */
export function reviewOf({ apiVersion, uid, objects, desiredApiVersion }: Asked): object {
  const sent = objects.map((object) => {
    const { resourceVersion: _, ...metadata } = object.metadata
    return { ...object, metadata }
  })
  return {
    kind,
    apiVersion,
    request: { uid, desiredAPIVersion: desiredApiVersion, objects: sent },
    response: { uid: '', convertedObjects: null, result: { metadata: {} } },
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The service's objects. Throws an Error for an invalid answer, or one that reports a failure. */
export function answeredObjects(answer: unknown, asked: Asked): readonly unknown[] {
  const review = isRecord(answer) ? answer : {}
  const isChecked = asked.apiVersion.endsWith('/v1')
  if (isChecked && (review['apiVersion'] !== asked.apiVersion || review['kind'] !== kind)) {
    const got = kindText({
      apiVersion: textOf(review['apiVersion']),
      kind: textOf(review['kind']),
      metadata: {},
    })
    throw new Error(
      `expected webhook response of ${kindText({ apiVersion: asked.apiVersion, kind, metadata: {} })}, got ${got}`,
    )
  }
  const { response } = review
  if (!isRecord(response)) throw new Error('no response provided')
  const uid = textOf(response['uid'])
  if (isChecked && uid !== asked.uid) {
    throw new Error(
      `expected response.uid=${JSON.stringify(asked.uid)}, got ${JSON.stringify(uid)}`,
    )
  }
  const result = isRecord(response['result']) ? response['result'] : {}
  const status = textOf(result['status'])
  if (status !== 'Success') {
    const why = textOf(result['message'])
    throw new Error(why || `response.result.status was '${status}', not 'Success'`)
  }
  const objects = response['convertedObjects']
  return Array.isArray(objects) ? (objects as unknown[]) : []
}

/** A value's type in Go's words. */
function goType(value: unknown): string {
  if (value === null) return '<nil>'
  if (Array.isArray(value)) return '[]interface {}'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  if (typeof value === 'boolean') return 'bool'
  return typeof value === 'string' ? 'string' : 'map[string]interface {}'
}

/** Why the object has another kind or version, or is another object than was sent. */
export function identityFault(
  object: unknown,
  original: KubeObject,
  apiVersion: string,
): { field: 'version' | 'identity'; why: string } | undefined {
  const sent = isRecord(object) ? object : {}
  const found = textOf(sent['apiVersion'])
  if (found !== apiVersion) {
    const why = `invalid groupVersion (expected ${apiVersion}, received ${found})`
    return { field: 'version', why }
  }
  const { kind: wanted = '' } = original
  if (sent['kind'] !== wanted) {
    const why = `invalid kind (expected ${wanted}, received ${textOf(sent['kind'])})`
    return { field: 'version', why }
  }
  const metadata = isRecord(sent['metadata']) ? sent['metadata'] : {}
  for (const [field, name] of [
    ['name', 'name'],
    ['namespace', 'namespace'],
    ['uid', 'UID'],
  ] as const) {
    const [before, after] = [original.metadata[field] ?? '', textOf(metadata[field])]
    if (before !== after) {
      return { field: 'identity', why: `must have the same ${name}: ${before} != ${after}` }
    }
  }
  return undefined
}

function isAsBefore(now: Readonly<Record<string, unknown>>, before: object | undefined): boolean {
  const old = (before ?? {}) as Readonly<Record<string, unknown>>
  const names = Object.keys(now)
  return names.length === Object.keys(old).length && names.every((name) => now[name] === old[name])
}

/** Throws an Error that says what is wrong with the labels or annotations that a service gave an object. */
function checkTexts(
  field: 'labels' | 'annotations',
  texts: Readonly<Record<string, unknown>>,
  before: object | undefined,
): void {
  for (const [name, value] of Object.entries(texts)) {
    if (typeof value === 'string') continue
    throw new Error(
      `metadata.${field}[${name}] must be a string, but is ${goType(value)} in converted object`,
    )
  }
  if (isAsBefore(texts, before)) return
  const rules = { namespaced: false, nameForm: 'subdomain', path: 'metadata' } as const
  const faults = validateObjectMeta({ name: 'a', [field]: texts } as ObjectMeta, rules)
    .filter((fault) => fault.field.startsWith(`metadata.${field}`))
    .map((fault) => `${fault.field}: ${fault.message}`)
  if (faults.length > 0) {
    throw new Error(faults.length === 1 ? faults.join('') : `[${faults.join(', ')}]`)
  }
}

/** The object with the original's metadata, but for labels and annotations. Throws an Error for invalid metadata. */
export function withOriginalMetadata(
  object: Readonly<Record<string, unknown>>,
  original: KubeObject,
): KubeObject {
  const given = object['metadata']
  if (given === undefined) throw new Error('missing metadata in converted object')
  if (!isRecord(given)) {
    throw new Error(`invalid metadata of type ${goType(given)} in converted object`)
  }
  const metadata = copyJson(original.metadata) as ObjectMeta & Record<string, unknown>
  for (const field of ['labels', 'annotations'] as const) {
    const texts = given[field]
    delete metadata[field]
    if (texts === undefined || texts === null) continue
    if (!isRecord(texts)) {
      throw new Error(`invalid metadata.${field} of type ${goType(texts)} in converted object`)
    }
    checkTexts(field, texts, original.metadata[field])
    metadata[field] = texts as Record<string, string>
  }
  const { kind: name, apiVersion, metadata: _, ...rest } = object as unknown as KubeObject
  return { kind: name, apiVersion, metadata, ...rest } as KubeObject
}
