/** The draft of a request with the patch of a policy applied (upstream: plugin/policy/mutating/patch). */
import { inTurns } from '../../../component-base/next-turn.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import { internalError, StatusError } from '../../../machinery/objects/status-error.ts'
import { JsonPatchFault, jsonPatchSteps } from '../../../machinery/patch/json-patch.ts'
import { maxBodyValues } from '../../../machinery/values/value-limit.ts'
import type { AdmissionRequest } from '../admission.ts'
import { decodedPatch, draftSchema, replaceDraft } from '../draft-replacement.ts'
import { withConfiguration } from './apply-configuration.ts'
import type { Patch } from './mutation-program.ts'

/** Defaults may add to what a body brings. */
const mostValues = 4 * maxBodyValues
/** The store takes no more. */
const mostCharacters = 3 * 1024 * 1024

/** Policies may grow an object one after the other. Throws an Error for one that is too large. */
function checkSize(object: unknown): void {
  let [values, characters] = [0, 0]
  const visit = (value: unknown): void => {
    values += 1
    if (typeof value === 'string') characters += value.length
    if (values > mostValues || characters > mostCharacters) {
      throw new Error('the mutated object is too large')
    }
    if (typeof value !== 'object' || value === null) return
    for (const key in value) {
      characters += key.length
      visit((value as Record<string, unknown>)[key])
    }
  }
  visit(object)
}

/** Undefined when a `test` found another value: then nothing is changed. Rejects with an Error when the patch does not apply. */
async function withOperations(
  object: KubeObject,
  operations: readonly Record<string, unknown>[],
): Promise<unknown> {
  try {
    return await inTurns(jsonPatchSteps(object, operations))
  } catch (error) {
    const cause = error instanceof StatusError ? error.cause : undefined
    if (!(cause instanceof Error)) throw error
    if (cause instanceof JsonPatchFault && cause.isFailedTest) return undefined
    throw new Error(`JSONPath: ${cause.message}`, { cause })
  }
}

/** Where a patch applies: the draft as the policy saw it, in the version that it matched. */
export interface PatchTarget {
  readonly request: AdmissionRequest
  readonly matched: Resource
  readonly object: KubeObject
}

/** Applies the patch to the draft. Rejects with an Error when it does not apply, with a StatusError when the result is no object of the kind. */
export async function patchDraft(patch: Patch, target: PatchTarget): Promise<void> {
  const { request, matched, object: sent } = target
  const value =
    patch.type === 'JSONPatch'
      ? await withOperations(sent, patch.operations)
      : withConfiguration(sent, patch.config, draftSchema(matched, request))
  if (value === undefined) return
  checkSize(value)
  // The schema of an apply configuration has been checked.
  const report = patch.type === 'JSONPatch' && matched.custom === undefined
  const { object, problems } = decodedPatch(value, { matched, request, sent, report })
  if (problems.fatal !== undefined) throw internalError(problems.fatal)
  if (problems.unknown.length > 0) {
    const unknown = problems.unknown.map((path) => `unknown field "${path}"`)
    throw internalError(`strict decoding error: ${unknown.join(', ')}`)
  }
  await replaceDraft(request, { matched, object })
}
