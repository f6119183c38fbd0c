/**
 * read-patch: the body of a PATCH as a function of the object, and the errors of invalid results (upstream:
 * handlers/patch.go).
 */
import { schemaOf } from '../../api/schemas.ts'
import { jsonKind } from '../../machinery/schema/decode-context.ts'
import { goPrint } from '../../machinery/values/go-syntax.ts'
import { jsonPatchSteps } from '../../machinery/patch/json-patch.ts'
import { applyMergePatch } from '../../machinery/patch/merge-patch.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { badRequest, isStatusError, StatusError } from '../../machinery/objects/status-error.ts'
import { oneStep, type Steps } from '../../machinery/values/steps.ts'
import { applyStrategicMergePatch } from '../../machinery/patch/strategic-merge-patch.ts'
import { bodyOf, mediaTypeOf, parseJson } from '../codec/decode-body.ts'
import { patchWording, type DecodeWording } from '../codec/decode-wording.ts'
import type { RequestContext } from '../request/request.ts'
import type { FieldValidation } from '../codec/write-options.ts'
import { patchedText, touchedByMerge, touchedByOperations } from './patched-text.ts'

/** One parsed patch document. */
export interface Patch {
  /** The patched value of an object in the request's version. Changes no input. */
  steps(object: KubeObject): Steps<unknown>
  /** The errors of a patched value that cannot be decoded. */
  wording(patched: unknown): DecodeWording
}

const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
] as const

/** The error of upstream's router, before any handler. */
function unsupportedPatch(): StatusError {
  return new StatusError('UnsupportedMediaType', '415: Unsupported Media Type', { details: {} })
}

/** Custom kinds have no strategic merge patch. Here the handler rejects the type and lists the accepted ones. */
const customPatchTypes: readonly string[] = patchTypes.slice(0, 2)

function unsupportedCustomPatch(): StatusError {
  return new StatusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${customPatchTypes.join(', ')}, application/apply-patch+yaml`,
  )
}

/**
 * Reads the body by its Content-Type. Without a schema there is no strategic merge. Throws 415 for other types and 400 for a
 * document of the wrong shape.
 */
export async function readPatch(
  context: RequestContext,
  schemaName: string | undefined,
  fieldValidation: FieldValidation,
): Promise<Patch> {
  const type = mediaTypeOf(context) as (typeof patchTypes)[number]
  if (schemaName === undefined && !customPatchTypes.includes(type)) throw unsupportedCustomPatch()
  if (!patchTypes.includes(type)) throw unsupportedPatch()
  const body = await bodyOf(context)
  if (type === 'application/strategic-merge-patch+json') {
    return strategicMergePatch(parseJson(body, ''), schemaName ?? '')
  }
  const document = parseJson(body, decoding)
  return type === 'application/json-patch+json'
    ? jsonPatch(document, fieldValidation)
    : mergePatch(document, fieldValidation)
}

const decoding = 'error decoding patch: '
const mapType = 'map[string]interface {}'

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function mistyped(value: unknown, goType: string): string {
  return `json: cannot unmarshal ${jsonKind(value)} into Go value of type ${goType}`
}

function jsonPatch(document: unknown, fieldValidation: FieldValidation): Patch {
  const isStrict = fieldValidation !== 'Ignore'
  const operations = document ?? []
  const fault = operationsFault(operations, isStrict)
  if (fault !== undefined) throw badRequest(isStrict ? `${decoding}${fault}` : fault)
  return {
    steps: (object) => jsonPatchSteps(object, operations),
    wording: (patched) =>
      patchWording(() => patchedText(patched, touchedByOperations(operations as Operation[])), {
        isConverted: false,
      }),
  }
}

type Operation = Readonly<Record<string, unknown>> | null

/** Upstream reads the fields into a typed struct only if it reports unknown ones. */
function operationsFault(operations: unknown, isStrict: boolean): string | undefined {
  if (!Array.isArray(operations)) {
    return mistyped(operations, isStrict ? '[]handlers.jsonPatchOp' : 'jsonpatch.Patch')
  }
  for (const operation of operations as readonly unknown[]) {
    if (operation !== null && !isRecord(operation)) {
      return mistyped(operation, isStrict ? 'handlers.jsonPatchOp' : 'jsonpatch.Operation')
    }
    for (const name of isStrict ? ['op', 'path', 'from'] : []) {
      const value = operation?.[name] ?? ''
      if (typeof value === 'string') continue
      return `json: cannot unmarshal ${jsonKind(value)} into Go struct field jsonPatchOp.${name} of type string`
    }
  }
  return undefined
}

function mergePatch(document: unknown, fieldValidation: FieldValidation): Patch {
  const isStrict = fieldValidation !== 'Ignore'
  const isDocument = isRecord(document) || (!isStrict && Array.isArray(document))
  if (!isDocument) {
    throw badRequest(
      isStrict && document !== null
        ? `${decoding}${mistyped(document, mapType)}`
        : 'Invalid JSON Patch',
    )
  }
  return {
    steps: (object) => oneStep(() => applyMergePatch(object, document)),
    wording: (patched) =>
      patchWording(() => patchedText(patched, touchedByMerge(document)), { isConverted: false }),
  }
}

function strategicMergePatch(document: unknown, schemaName: string): Patch {
  const patch = document ?? {}
  if (!isRecord(patch)) throw badRequest(mistyped(patch, mapType))
  const schema = schemaOf(schemaName)
  return {
    steps: (object) =>
      oneStep(() => {
        try {
          return applyStrategicMergePatch(object, patch, schema)
        } catch (error) {
          // Upstream answers most of these with 500. They are the client's fault.
          if (!isStatusError(error) || error.code < 500) throw error
          throw new StatusError('BadRequest', error.message, { cause: error })
        }
      }),
    wording: () => patchWording(() => goPrint(patch), { isConverted: true }),
  }
}
