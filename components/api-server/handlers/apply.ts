/** apply: PATCH with an apply configuration: merged by ownership of fields; creates what is not there. */
import { labelKey } from '../../api/dialect.ts'
import { nextTurn } from '../../component-base/next-turn.ts'
import { schemaOfResource } from '../../api/schemas.ts'
import { isRecord } from '../../machinery/apply/apply-shape.ts'
import { decode } from '../../machinery/schema/decode.ts'
import { duplicateFields, hasDuplicateFields } from '../../machinery/values/duplicate-fields.ts'
import { maxBodyValues, TooManyValuesError } from '../../machinery/values/value-limit.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Steps } from '../../machinery/values/steps.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import {
  badRequest,
  conflict,
  objectModified,
  StatusError,
} from '../../machinery/objects/status-error.ts'
import {
  bodyOf,
  decodeValue,
  measuredBody,
  mediaTypeOf,
  tooManyValues,
  toStorage,
  yamlFault,
} from '../codec/decode-body.ts'
import type { Cbor } from '../encoding/cbor-form.ts'
import { objectIn } from '../encoding/form.ts'
import { applyTo, checkConfig, type AppliedObject, type ApplyRequest } from '../registry/apply.ts'
import { emptyCustomObject, setManagedFields } from '../registry/field-tracking.ts'
import { withConversions } from '../registry/needed-conversions.ts'
import type { RequestContext } from '../request/request.ts'
import { answerForm } from '../codec/respond.ts'
import { patchOptionsOf, type FieldValidation, type WriteOptions } from '../codec/write-options.ts'
import {
  checkNameInUrl,
  demandedVersion,
  ensureMayCreate,
  wantedForm,
  writtenBytes,
  type Parts,
  type ResourceHandler,
} from './parts.ts'

/** The media types of apply configurations: YAML, of which JSON is a part, and CBOR where its feature gate is on. */
const applyYamlType = 'application/apply-patch+yaml'
const applyCborType = 'application/apply-patch+cbor'

/** Whether the body is an apply configuration. */
export function isApply(context: RequestContext): boolean {
  const type = mediaTypeOf(context)
  return type === applyYamlType || (type === applyCborType && context.cbor !== undefined)
}

/** Nesting that every later step can walk. */
const deepest = 1000

function undecodable(why: string, cause?: unknown, encoding = 'YAML'): StatusError {
  return new StatusError('BadRequest', `error decoding ${encoding}: ${why}`, { cause })
}

interface Sent {
  readonly config: Record<string, unknown>
  /** What is wrong with the text, though it can be read: a key given twice. */
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

/** How JSON of an object begins; so may YAML. */
const mayBeJson = /^\s*\{/
const headBytes = 1024

/** The configuration in a body of YAML, of which JSON is a part that is quick to read. */
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
      // Not JSON, then, but YAML still.
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

/** The object without any field set, in the version of the request. */
export function emptyObject(resource: Resource): KubeObject {
  if (resource.custom !== undefined) return emptyCustomObject(resource)
  const schema = schemaOfResource(resource)
  return decode({}, schema, { mode: 'ignore' }).object
}

export interface ReadApply {
  readonly request: ApplyRequest
  readonly options: WriteOptions
  /** Call once the configuration has been applied: throws, or warns, of keys given twice. */
  reportFault(): void
}

/** Reads an apply to a resource or, in the Scale of one, to a sub-resource; throws for options and bodies that are none. */
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

/** A PATCH with an apply configuration: 201 when it made the object, 409 when others own what it changes. */
export const applyObject: ResourceHandler = async (context, resource, parts) => {
  const { info, user, warnings } = context
  const { registry } = parts
  const form = wantedForm(context, resource, parts)
  const { request, options, reportFault } = await readApply(context, resource, parts)
  const version = demandedVersion(context)
  const empty = emptyObject(resource)
  const by = { tracking: registry.tracking, empty }

  /** The draft that applying to `live` makes. */
  const appliedTo = async (live: KubeObject, unchanged: () => KubeObject): Promise<KubeObject> => {
    const isLarge = context.isLarge === true
    if (isLarge) await nextTurn()
    const apply = (): Steps<AppliedObject> => applyTo(live, request, by)
    const { object: value, managedFields } = await withConversions(resource, apply, { isLarge })
    reportFault()
    if (isLarge) await nextTurn()
    const draft =
      value === undefined
        ? unchanged()
        : toStorage(resource, decodeValue(context, resource, { value, fieldValidation: 'Ignore' }))
    checkNameInUrl(draft.metadata.name ?? '', info.name)
    setManagedFields(draft, managedFields)
    return draft
  }

  const written = await registry.update({
    resource,
    namespace: info.namespace,
    name: info.name,
    subresource: info.subresource,
    user,
    dryRun: options.dryRun,
    warnings,
    context,
    change: async (now, entry) => {
      if (version !== undefined && version !== String(entry.revision)) {
        throw conflict(resource, info.name, objectModified)
      }
      if (resource.custom !== undefined) return await appliedTo(now, () => structuredClone(now))
      return await appliedTo(objectIn(resource, entry), () => entry.draft())
    },
    ...(info.subresource === '' && {
      createInstead: async () => {
        await ensureMayCreate(context, parts)
        const draft = await appliedTo(empty, () => structuredClone(empty))
        const { uid } = draft.metadata
        if (uid) {
          throw conflict(
            resource,
            info.name,
            `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
          )
        }
        return draft
      },
    }),
  })
  const status = written.outcome === 'created' ? 201 : 200
  return answerForm(
    status,
    form,
    await writtenBytes(form, written, { resource, dryRun: options.dryRun }),
  )
}
