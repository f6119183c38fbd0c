/** decode-body: request bodies -> drafts. Checks media type, kind and version, fields and types, with upstream's messages. */
import { dialects } from '../api/dialect.ts'
import { findSchema, schemaOf } from '../api/schemas.ts'
import { decode } from '../machinery/decode.ts'
import { hasDuplicateFields, strictProblems } from '../machinery/duplicate-fields.ts'
import { jsonFault, nestsDeeperThan } from '../machinery/json-fault.ts'
import type { KubeObject } from '../machinery/object.ts'
import { apiVersionOf, type Resource } from '../machinery/resource.ts'
import { ProtobufError, readProtobuf, readProtobufEnvelope } from '../machinery/protobuf-reader.ts'
import { badRequest, StatusError } from '../machinery/status-error.ts'
import { convertTo } from './registry/conversions.ts'
import type { RequestContext } from './request.ts'
import type { FieldValidation } from './write-options.ts'
import { load } from './yaml.ts'

/** Largest body of any request (upstream: MaxRequestBodyBytes). */
export const maxBodyBytes = 3 * 1024 * 1024

/** The media type of the body, without parameters; JSON when there is none. */
export function mediaTypeOf(context: RequestContext): string {
  const header = context.http.headers['content-type']
  const text = Array.isArray(header) ? (header[0] ?? '') : (header ?? '')
  return (text.split(';', 1)[0] ?? '').trim().toLowerCase() || 'application/json'
}

const shownBytes = 1024

/** Nesting that every later step can walk without exhausting the stack; upstream's bound is 10,000. */
const deepest = 1000

/** Parses JSON; a fault is a 400 whose text starts with `what`. */
export function parseJson(body: Buffer, what: string): unknown {
  if (nestsDeeperThan(body, deepest)) throw badRequest(`${what}: exceeded max depth`)
  const text = body.toString()
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new StatusError('BadRequest', `${what}: ${jsonFault(text)}`, { cause: error })
  }
}

interface Parsed {
  readonly value: unknown
  /** JSON bytes in which duplicate fields can be looked for. */
  readonly text: Buffer | undefined
}

/** Both dialects' names: a client of either may write to either. */
const protobufTypes = new Set<string>(Object.values(dialects).map((one) => one.protobufMediaType))

/** A protobuf body as the value its JSON form would have had. */
function parseProtobuf(body: Buffer, wanted: BodyKind): Record<string, unknown> {
  try {
    const { kind, apiVersion, raw } = readProtobufEnvelope(body)
    const typed = { kind: kind || wanted.kind, apiVersion: apiVersion || wanted.apiVersion }
    // Another kind has other field numbers; what is wrong is said when the kind is checked.
    if (typed.kind !== wanted.kind) return typed
    return { ...readProtobuf(schemaOf(wanted.schema), raw), ...typed }
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    throw new StatusError(
      'BadRequest',
      `the object provided is unrecognized (must be of type ${wanted.kind}): ${error.message}`,
      { cause: error },
    )
  }
}

function parseBody(context: RequestContext, body: Buffer, wanted: BodyKind): Parsed {
  const type = mediaTypeOf(context)
  const isProtobuf = protobufTypes.has(type)
  if (type !== 'application/json' && type !== 'application/yaml' && !isProtobuf) {
    throw new StatusError(
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, ${context.dialect.protobufMediaType}`,
      { details: {} },
    )
  }
  if (isProtobuf) return { value: parseProtobuf(body, wanted), text: undefined }
  if (type === 'application/json') {
    try {
      return {
        value: parseJson(body, "couldn't get version/kind; json parse error"),
        text: body,
      }
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      throw new StatusError(
        'BadRequest',
        `the object provided is unrecognized (must be of type ${wanted.kind}): ${error.message} (${body.subarray(0, shownBytes).toString()})`,
        { cause: error },
      )
    }
  }
  try {
    return { value: load(body.toString()), text: undefined }
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    throw new StatusError('BadRequest', `error converting YAML to JSON: yaml: ${why}`, {
      cause: error,
    })
  }
}

/** `v1`, or the part after the slash: how messages name a version. */
function versionPart(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf('/') + 1)
}

/** The kind whose form a body to this resource or sub-resource has. */
export interface BodyKind {
  readonly kind: string
  readonly apiVersion: string
  readonly schema: string
  /** Other versions of the same form that a body may name. */
  readonly alsoAccepted?: readonly string[]
}

function checkKind(value: Record<string, unknown>, wanted: BodyKind): void {
  const kind = value['kind']
  const apiVersion = value['apiVersion']
  if (kind !== undefined && typeof kind !== 'string') {
    throw badRequest("couldn't get version/kind; json parse error: kind is not a string")
  }
  if (apiVersion !== undefined && typeof apiVersion !== 'string') {
    throw badRequest("couldn't get version/kind; json parse error: apiVersion is not a string")
  }
  if (kind && kind !== wanted.kind) {
    const version = apiVersion || wanted.apiVersion
    const group = wanted.schema.slice(0, wanted.schema.indexOf('/'))
    const isKnown =
      findSchema(`${wanted.schema.slice(0, wanted.schema.indexOf('.'))}.${kind}`) !== undefined
    throw badRequest(
      isKnown
        ? `${kind} in version "${versionPart(version)}" cannot be handled as a ${wanted.kind}: converting ` +
            `(${versionPart(version)}.${kind}) to (${group}.${wanted.kind}): unknown conversion`
        : `no kind "${kind}" is registered for version "${version}" in scheme "pkg/api/legacyscheme/scheme.go:30"`,
    )
  }
  const isAccepted =
    !apiVersion ||
    apiVersion === wanted.apiVersion ||
    wanted.alsoAccepted?.includes(apiVersion) === true
  if (!isAccepted) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${wanted.apiVersion})`,
    )
  }
}

function bodyKindOf(resource: Resource): BodyKind {
  return {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    schema: `${resource.package}.${resource.kind}`,
  }
}

/** Unknown and duplicate fields, by the request's mode: dropped silently, warned of, or refused. */
function report(
  context: RequestContext,
  problems: readonly string[],
  to: { wanted: BodyKind; fieldValidation: FieldValidation },
): void {
  if (problems.length === 0 || to.fieldValidation === 'Ignore') return
  if (to.fieldValidation === 'Warn') {
    context.warnings.push(...problems)
    return
  }
  const { kind, apiVersion } = to.wanted
  throw badRequest(
    `${kind} in version "${versionPart(apiVersion)}" cannot be handled as a ${kind}: strict decoding error: ${problems.join(', ')}`,
  )
}

/** Checks and copies a parsed value into a draft of the wanted kind. */
export function decodeAs(
  context: RequestContext,
  wanted: BodyKind,
  from: { value: unknown; text?: Buffer | undefined; fieldValidation: FieldValidation },
): KubeObject {
  const { text, fieldValidation } = from
  // As in Go, null is an object without fields.
  const value = from.value ?? {}
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${wanted.kind}): couldn't get version/kind; ` +
        `json parse error: json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into Go value of type struct`,
    )
  }
  checkKind(value as Record<string, unknown>, wanted)
  const isSilent = fieldValidation === 'Ignore'
  const { object, problems } = decode(value, schemaOf(wanted.schema), {
    mode: isSilent ? 'ignore' : 'report',
  })
  if (problems.fatal !== undefined) {
    throw badRequest(
      `${wanted.kind} in version "${versionPart(wanted.apiVersion)}" cannot be handled as a ${wanted.kind}: ${problems.fatal}`,
    )
  }
  const texts =
    isSilent ||
    text === undefined ||
    (problems.unknown.length === 0 && !hasDuplicateFields(text, value))
      ? problems.unknown.map((path) => `unknown field "${path}"`)
      : strictProblems(text, problems.unknown)
  report(context, texts, { wanted, fieldValidation })
  object.kind = wanted.kind
  object.apiVersion = wanted.apiVersion
  object.metadata ??= {}
  return object
}

/** The request's body as a draft in the request's version. */
export async function decodeBody(
  context: RequestContext,
  resource: Resource,
  fieldValidation: FieldValidation,
): Promise<KubeObject> {
  return await decodeBodyAs(context, bodyKindOf(resource), fieldValidation)
}

/** The same for a body of another kind than the resource's own (Scale, Binding, Eviction, TokenRequest). */
export async function decodeBodyAs(
  context: RequestContext,
  wanted: BodyKind,
  fieldValidation: FieldValidation,
): Promise<KubeObject> {
  const body = await context.http.body(maxBodyBytes)
  const { value, text } = parseBody(context, body, wanted)
  return decodeAs(context, wanted, { value, text, fieldValidation })
}

/** A value that a patch produced, as a draft in the request's version. */
export function decodeValue(
  context: RequestContext,
  resource: Resource,
  from: { value: unknown; fieldValidation: FieldValidation },
): KubeObject {
  return decodeAs(context, bodyKindOf(resource), from)
}

/** The draft in the version that is stored. */
export function toStorage(resource: Resource, object: KubeObject): KubeObject {
  const { package: stored, apiVersion } = resource.storageVersion
  if (resource.package === stored) return object
  return convertTo(object, resource.package, { package: stored, kind: resource.kind, apiVersion })
}

const deleteOptionsKind: BodyKind = {
  kind: 'DeleteOptions',
  apiVersion: 'v1',
  schema: 'meta/v1.DeleteOptions',
}

/** The optional DeleteOptions body of a delete; any group's version of it is the same. */
export async function decodeDeleteOptions(
  context: RequestContext,
): Promise<Record<string, unknown> | undefined> {
  const body = await context.http.body(maxBodyBytes)
  if (body.length === 0) return undefined
  const { value } = parseBody(context, body, deleteOptionsKind)
  const sent = value as Record<string, unknown> | null
  const apiVersion = typeof sent?.['apiVersion'] === 'string' ? sent['apiVersion'] : ''
  const wanted = { ...deleteOptionsKind, apiVersion: apiVersion || deleteOptionsKind.apiVersion }
  return decodeAs(context, wanted, { value, fieldValidation: 'Ignore' }) as unknown as Record<
    string,
    unknown
  >
}
