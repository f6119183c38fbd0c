/** read-apply: the body and the options of an apply (upstream: endpoints/handlers/patch.go, applyPatcher). */
import { labelKey } from '../../api/dialect.ts'
import { nextTurn } from '../../component-base/next-turn.ts'
import { isRecord } from '../../machinery/apply/apply-shape.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { badRequest, StatusError } from '../../machinery/objects/status-error.ts'
import { duplicateFields, hasDuplicateFields } from '../../machinery/values/duplicate-fields.ts'
import { maxBodyValues, TooManyValuesError } from '../../machinery/values/value-limit.ts'
import {
  bodyOf,
  measuredBody,
  mediaTypeOf,
  tooManyValues,
  yamlFault,
} from '../codec/decode-body.ts'
import { patchOptionsOf, type FieldValidation, type WriteOptions } from '../codec/write-options.ts'
import type { Cbor } from '../encoding/cbor-form.ts'
import { checkConfig, type ApplyRequest } from '../registry/apply.ts'
import type { RequestContext } from '../request/request.ts'
import type { Parts } from './parts.ts'

/** The media types of apply configurations: YAML, of which JSON is a part, and CBOR where its feature gate is on. */
const applyYamlType = 'application/apply-patch+yaml'
const applyCborType = 'application/apply-patch+cbor'

/** Whether the body is an apply configuration. */
export function isApply(context: RequestContext): boolean {
  const type = mediaTypeOf(context)
  return type === applyYamlType || (type === applyCborType && context.cbor !== undefined)
}

/** The deepest nesting that every later step can walk. */
const deepest = 1000

function undecodable(why: string, cause?: unknown, encoding = 'YAML'): StatusError {
  return new StatusError('BadRequest', `error decoding ${encoding}: ${why}`, { cause })
}

interface Sent {
  readonly config: Record<string, unknown>
  /** Why the text is invalid although it can be read: a duplicate key. */
  readonly fault: string | undefined
}

function parseCborConfig(cbor: Cbor, body: Buffer): Sent {
  let value: unknown
  try {
    value = cbor.read(body, maxBodyValues)
  } catch (error) {
    if (error instanceof TooManyValuesError) throw tooManyValues(error)
    const why = error instanceof Error ? error.message : String(error)
    throw undecodable(why, error, 'CBOR')
  }
  if (!isRecord(value)) throw undecodable('the configuration is no map', undefined, 'CBOR')
  return { config: value, fault: undefined }
}

/** How a JSON object begins. A YAML mapping may begin the same way. */
const mayBeJson = /^\s*\{/
const headBytes = 1024

/** Reads a body of YAML. JSON is YAML that can be read faster. */
async function parseConfig({ yaml }: RequestContext, body: Buffer): Promise<Sent> {
  if (mayBeJson.test(body.toString('latin1', 0, headBytes))) {
    const { depth, fields } = measuredBody(body)
    if (depth > deepest) throw undecodable('exceeded max depth')
    try {
      const value: unknown = JSON.parse(body.toString())
      const [first] = hasDuplicateFields(fields, value) ? duplicateFields(body) : []
      const fault = first === undefined ? undefined : repeated(1, first)
      return { config: recordOf(value), fault }
    } catch (error) {
      // Not JSON. It may still be YAML.
      if (!(error instanceof SyntaxError)) throw error
    }
  }
  try {
    const { value: config, repeatedKey: key } = await yaml.read(body, { isLenient: true })
    return {
      config: recordOf(config),
      fault: key === undefined ? undefined : repeated(key.line, key.name),
    }
  } catch (error) {
    throw yamlFault(
      error,
      (why) => `error decoding YAML: error converting YAML to JSON: yaml: ${why}`,
    )
  }
}

function repeated(line: number, key: string): string {
  return `error converting YAML to JSON: yaml: unmarshal errors:\n  line ${line}: key "${key}" already set in map`
}

function recordOf(value: unknown): Record<string, unknown> {
  if (value === null || value === undefined) return {}
  if (isRecord(value)) return value
  const type = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
  throw undecodable(
    `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`,
  )
}

function tellFault(
  context: RequestContext,
  fault: string | undefined,
  fieldValidation: FieldValidation,
): void {
  if (fault === undefined || fieldValidation === 'Ignore') return
  if (fieldValidation === 'Strict') throw badRequest(`error strict decoding YAML: ${fault}`)
  context.warnings.push(fault)
}

export interface ReadApply {
  readonly request: ApplyRequest
  readonly options: WriteOptions
  /** Call once the configuration has been applied. Throws a 400 for a duplicate key, or warns, as `fieldValidation` says. */
  reportFault(): void
}

/** Reads an apply to a resource, or to the Scale of one. Throws a StatusError for invalid options and bodies. */
export async function readApply(
  context: RequestContext,
  resource: Resource,
  parts: Parts,
): Promise<ReadApply> {
  const { info } = context
  const { dialect } = parts
  const options = patchOptionsOf(info.query, { isApply: true, dialect })
  const body = await bodyOf(context)
  const { config, fault } =
    context.cbor !== undefined && mediaTypeOf(context) === applyCborType
      ? parseCborConfig(context.cbor, body)
      : await parseConfig(context, body)
  const request: ApplyRequest = {
    resource,
    subresource: info.subresource,
    manager: options.fieldManager,
    nowMs: parts.clock.now(),
    force: options.force,
    config,
    lastAppliedKey: labelKey(dialect, 'kubectl', 'last-applied-configuration'),
  }
  if (context.isLarge === true) await nextTurn()
  checkConfig(request)
  return {
    request,
    options,
    reportFault: () => tellFault(context, fault, options.fieldValidation),
  }
}
