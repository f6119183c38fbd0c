/** decode-body: request bodies -> drafts. Checks media type, kind and version, fields and types, with upstream's messages. */
import { objectKindOf } from '../../api/object-kind.ts'
import { dialects } from '../../api/dialect.ts'
import { largeBytes, nextTurn } from '../../component-base/next-turn.ts'
import { schemaOf } from '../../api/schemas.ts'
import { decode } from '../../machinery/schema/decode.ts'
import { hasDuplicateFields, strictProblems } from '../../machinery/values/duplicate-fields.ts'
import { wellFormedJson } from '../../machinery/values/json-copy.ts'
import { jsonFault } from '../../machinery/values/json-fault.ts'
import { measureJson, type JsonMeasure } from '../../machinery/values/json-measure.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { remembered } from '../../machinery/values/remembered.ts'
import { apiVersionOf, type Resource } from '../../machinery/objects/resource.ts'
import {
  ProtobufError,
  readProtobuf,
  readProtobufEnvelope,
} from '../../machinery/protobuf/protobuf-reader.ts'
import { jsonKind } from '../../machinery/schema/decode-context.ts'
import { badRequest, isStatusError, StatusError } from '../../machinery/objects/status-error.ts'
import { maxBodyValues, TooManyValuesError } from '../../machinery/values/value-limit.ts'
import { checkKind, type BodyKind } from './body-kind.ts'
import { bodyWording, type DecodeWording } from './decode-wording.ts'
import type { Cbor } from '../encoding/cbor-form.ts'
import type { RequestContext } from '../request/request.ts'
import type { FieldValidation } from './write-options.ts'

/** Largest body of any request (upstream: MaxRequestBodyBytes). */
export const maxBodyBytes = 3 * 1024 * 1024

/** The media type of the body, without parameters; JSON if the request names no media type. */
export function mediaTypeOf(context: RequestContext): string {
  const header = context.http.headers['content-type']
  const text = Array.isArray(header) ? (header[0] ?? '') : (header ?? '')
  return (text.split(';', 1)[0] ?? '').trim().toLowerCase() || 'application/json'
}

/** Nesting that every later step can walk without exhausting the stack; upstream's bound is 10,000. */
const deepest = 1000

/** The 413 for a body of too many values. */
export function tooManyValues(cause?: unknown): StatusError {
  return new StatusError(
    'RequestEntityTooLarge',
    `Request entity too large: The allowed maximum of values in a body is ${maxBodyValues}`,
    { cause },
  )
}

/** How large the JSON text is. Throws a 413 for one of too many values, but for one that nests too deep. */
export function measuredBody(body: Buffer): JsonMeasure {
  const measure = measureJson(body)
  if (measure.values > maxBodyValues && measure.depth <= deepest) throw tooManyValues()
  return measure
}

/** Parses JSON; a fault is a 400 whose text starts with `prefix`, too many values are a 413. */
export function parseJson(body: Buffer, prefix: string): unknown {
  return parseMeasured(body, measuredBody(body), prefix)
}

function parseMeasured(
  body: Buffer,
  { depth, hasLargeNumber }: JsonMeasure,
  prefix: string,
): unknown {
  if (depth > deepest) throw badRequest(`${prefix}exceeded max depth`)
  const text = body.toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new StatusError('BadRequest', `${prefix}${jsonFault(body)}`, { cause: error })
  }
  const tooLarge = hasLargeNumber && largeNumber.test(text) ? numberTooLarge(text) : undefined
  if (tooLarge !== undefined) {
    throw badRequest(
      `${prefix}json: cannot unmarshal number ${tooLarge} into Go value of type float64`,
    )
  }
  // Only an escape can make half a surrogate pair.
  return text.includes('\\u') ? wellFormedJson(value) : value
}

// What may be a number past all bounds: it is looked for with care only then.
const largeNumber = /[[:,\s]-?(?:\d{300}|\d[\d.]*[eE]\+?\d{3})|^-?\d/

/** The parser with all that it hands on, which its type does not yet say. */
const parseWithSource = JSON.parse as (
  text: string,
  onValue: (key: string, value: unknown, of: { readonly source?: string }) => unknown,
) => unknown

/** The first number that no float holds, as it is written. */
function numberTooLarge(text: string): string | undefined {
  let found: string | undefined
  parseWithSource(text, (_, value, { source }) => {
    if (value === Infinity || value === -Infinity) found ??= source
    return undefined
  })
  return found
}

interface Parsed {
  readonly value: unknown
  /** JSON bytes in which duplicate fields can be looked for. */
  readonly json: JsonText | undefined
}

interface JsonText {
  readonly bytes: Buffer
  /** How many fields the bytes give, repeats included. */
  readonly fields: number
}

/** Both dialects' names: a client of either may write to either. */
const protobufTypes = new Set<string>(Object.values(dialects).map((one) => one.protobufMediaType))

/** A protobuf body as the value its JSON form would have had. */
function parseProtobuf(body: Buffer, wanted: BodyKind): Record<string, unknown> {
  const wording = bodyWording(wanted, body)
  let typed: { kind: string; apiVersion: string } | undefined
  try {
    const { kind, apiVersion, raw } = readProtobufEnvelope(body)
    typed = { kind: kind || wanted.kind, apiVersion: apiVersion || wanted.apiVersion }
    // Another kind has other field numbers; the later check of the kind reports the error.
    if (typed.kind !== wanted.kind) return typed
    return { ...readProtobuf(schemaOf(wanted.schema), raw, maxBodyValues), ...typed }
  } catch (error) {
    if (error instanceof TooManyValuesError) throw tooManyValues(error)
    if (!(error instanceof ProtobufError)) throw error
    throw typed === undefined
      ? wording.unrecognized(error.message, error)
      : wording.unusable(typed, error.message)
  }
}

function parseCbor(cbor: Cbor, body: Buffer, wanted: BodyKind): unknown {
  try {
    return cbor.read(body, maxBodyValues)
  } catch (error) {
    if (error instanceof TooManyValuesError) throw tooManyValues(error)
    const why = error instanceof Error ? error.message : String(error)
    const what = `unable to determine group/version/kind: ${why}`
    throw bodyWording(wanted, body).unrecognized(what, error)
  }
}

function parseBody(
  context: RequestContext,
  body: Buffer,
  wanted: BodyKind,
): Parsed | Promise<Parsed> {
  const type = mediaTypeOf(context)
  const hasProtobuf = wanted.objects?.hasProtobuf !== false
  const isProtobuf = protobufTypes.has(type) && hasProtobuf
  const cbor = type === 'application/cbor' ? context.cbor : undefined
  if (cbor !== undefined) return { value: parseCbor(cbor, body, wanted), json: undefined }
  if (type !== 'application/json' && type !== 'application/yaml' && !isProtobuf) {
    throw new StatusError(
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - accepted media types include: application/json, application/yaml${hasProtobuf ? `, ${context.dialect.protobufMediaType}` : ''}${context.cbor === undefined ? '' : ', application/cbor'}`,
    )
  }
  if (isProtobuf) return { value: parseProtobuf(body, wanted), json: undefined }
  if (type === 'application/json') {
    const measure = measuredBody(body)
    try {
      return {
        value: parseMeasured(body, measure, "couldn't get version/kind; json parse error: "),
        json: { bytes: body, fields: measure.fields },
      }
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      throw bodyWording(wanted, body).unrecognized(error.message, error)
    }
  }
  return parseYaml(context, body, wanted)
}

async function parseYaml(
  { yaml }: RequestContext,
  body: Buffer,
  wanted: BodyKind,
): Promise<Parsed> {
  try {
    return { value: (await yaml.read(body)).value, json: undefined }
  } catch (error) {
    throw yamlFault(error, (why) => bodyWording(wanted, body).unrecognized(`yaml: ${why}`).message)
  }
}

/** The error for invalid YAML; `shown` words the fault. */
export function yamlFault(error: unknown, shown: (why: string) => string): StatusError {
  if (isStatusError(error)) return error
  if (error instanceof TooManyValuesError) return tooManyValues(error)
  const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
  return new StatusError('BadRequest', shown(why), { cause: error })
}

const bodyKindOf = remembered((resource: Resource): BodyKind => ({
  kind: resource.kind,
  apiVersion: apiVersionOf(resource),
  schema: `${resource.package}.${resource.kind}`,
  objects: objectKindOf(resource),
}))

const structOf = remembered(({ schema }: BodyKind) => schemaOf(schema))

/** Unknown and duplicate fields, by the request's mode: ignored, a warning, or rejected. */
function report(
  context: RequestContext,
  problems: readonly string[],
  to: { wanted: BodyKind; fieldValidation: FieldValidation; wording: DecodeWording },
): void {
  if (problems.length === 0 || to.fieldValidation === 'Ignore') return
  if (to.fieldValidation === 'Warn') {
    context.warnings.push(...problems)
    return
  }
  throw to.wording.unusable(to.wanted, `strict decoding error: ${problems.join(', ')}`)
}

/** Faults that strict decoding reports. */
function strictTexts(
  unknown: readonly string[],
  of: { json: JsonText | undefined; hasRepeated: boolean; wanted: BodyKind },
): readonly string[] {
  const { json, hasRepeated, wanted } = of
  const named = unknown.map((path) => `unknown field "${path}"`)
  if (json === undefined) return named
  if (wanted.objects?.reportsInTextOrder === false) {
    return hasRepeated ? [...strictProblems(json.bytes, []), ...named] : named
  }
  return named.length > 0 || hasRepeated ? strictProblems(json.bytes, unknown) : named
}

const noBytes = Buffer.alloc(0)

/** What decoding starts from. With `json`, its text, the value is given away. */
export interface DecodedFrom {
  readonly value: unknown
  readonly json?: JsonText | undefined
  readonly fieldValidation: FieldValidation
  /** Default: that of a body of the kind. */
  readonly wording?: DecodeWording | undefined
}

// The type that upstream reads kind and version with, as Go prints it.
const typeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** Checks a parsed value and makes a draft of the wanted kind of it. */
export function decodeAs(context: RequestContext, wanted: BodyKind, from: DecodedFrom): KubeObject {
  const { json, fieldValidation, wording = bodyWording(wanted, noBytes) } = from
  // As in Go, null is an object without fields.
  const value = from.value ?? {}
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw wording.unrecognized(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonKind(value)} into Go value of type ${typeMeta}`,
    )
  }
  // What a strategic merge patch says of the kind does not count.
  if (!wording.isConverted) {
    checkKind(value as Record<string, unknown>, wanted, { dialect: context.dialect, wording })
  }
  const isSilent = fieldValidation === 'Ignore'
  // Both look at what was sent, of which decoding may make something else.
  const hasRepeated = !isSilent && json !== undefined && hasDuplicateFields(json.fields, value)
  const owners = (value as Partial<KubeObject>).metadata?.managedFields
  const mayReuse = json !== undefined
  const { object, problems } =
    wanted.objects === undefined
      ? decode(value, structOf(wanted), { mode: isSilent ? 'ignore' : 'report', mayReuse })
      : wanted.objects.decode(value, { report: !isSilent, mayReuse })
  const fault = wording.isConverted ? problems.unconverted : problems.fatal
  if (fault !== undefined) throw wording.unusable(wanted, fault)
  const texts = isSilent ? [] : strictTexts(problems.unknown, { json, hasRepeated, wanted })
  report(context, texts, { wanted, fieldValidation, wording })
  object.kind = wanted.kind
  object.apiVersion = wanted.apiVersion
  object.metadata ??= {}
  // An empty list of owners asks to forget them; decoding takes empty lists for none.
  if (Array.isArray(owners) && owners.length === 0) object.metadata.managedFields = []
  return object
}

/** The whole body. */
export async function bodyOf(context: RequestContext): Promise<Buffer> {
  const body = await context.http.body(maxBodyBytes)
  context.isLarge = body.length >= largeBytes
  if (context.isLarge) await nextTurn()
  return body
}

/** The request's body as a draft in the request's version. */
export async function decodeBody(
  context: RequestContext,
  resource: Resource,
  fieldValidation: FieldValidation,
): Promise<KubeObject> {
  return decodeBytes(context, resource, { body: await bodyOf(context), fieldValidation })
}

/** The same of a body that has been read; each call makes a draft of its own. Synchronous unless the body is large or YAML. */
export function decodeBytes(
  context: RequestContext,
  resource: Resource,
  from: { body: Buffer; fieldValidation: FieldValidation },
): KubeObject | Promise<KubeObject> {
  return decodeBytesAs(context, bodyKindOf(resource), from)
}

/** A body of another kind than the resource's own (Scale, Binding, Eviction, TokenRequest) as a draft. */
export async function decodeBodyAs(
  context: RequestContext,
  wanted: BodyKind,
  fieldValidation: FieldValidation,
): Promise<KubeObject> {
  return decodeBytesAs(context, wanted, { body: await bodyOf(context), fieldValidation })
}

function decodeBytesAs(
  context: RequestContext,
  wanted: BodyKind,
  { body, fieldValidation }: { body: Buffer; fieldValidation: FieldValidation },
): KubeObject | Promise<KubeObject> {
  const decoded = ({ value, json }: Parsed): KubeObject => {
    const wording = bodyWording(wanted, body)
    return decodeAs(context, wanted, { value, json, fieldValidation, wording })
  }
  const parsing = parseBody(context, body, wanted)
  if (!(parsing instanceof Promise) && context.isLarge !== true) return decoded(parsing)
  return decodedLater(parsing, context, decoded)
}

async function decodedLater(
  parsing: Parsed | Promise<Parsed>,
  { isLarge }: RequestContext,
  decoded: (parsed: Parsed) => KubeObject,
): Promise<KubeObject> {
  const parsed = await parsing
  if (isLarge === true) await nextTurn()
  return decoded(parsed)
}

/** A value that a patch produced, as a draft in the request's version. */
export function decodeValue(
  context: RequestContext,
  resource: Resource,
  from: Omit<DecodedFrom, 'json'>,
): KubeObject {
  return decodeAs(context, bodyKindOf(resource), from)
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
  const body = await bodyOf(context)
  if (body.length === 0) return undefined
  const { value } = await parseBody(context, body, deleteOptionsKind)
  if (context.isLarge === true) await nextTurn()
  const sent = value as Record<string, unknown> | null
  const apiVersion = typeof sent?.['apiVersion'] === 'string' ? sent['apiVersion'] : ''
  const wanted = { ...deleteOptionsKind, apiVersion: apiVersion || deleteOptionsKind.apiVersion }
  const wording = bodyWording(wanted, body)
  const object = decodeAs(context, wanted, { value, fieldValidation: 'Ignore', wording })
  return object as unknown as Record<string, unknown>
}
