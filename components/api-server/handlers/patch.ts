/** patch: JSON patch, merge patch and strategic merge patch of the newest state, applied again after a lost race. */
import { objectKindOf } from '../../api/object-kind.ts'
import { inTurns, nextTurn } from '../../component-base/next-turn.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { finished } from '../../machinery/values/steps.ts'
import { decodeValue } from '../codec/decode-body.ts'
import type { RequestContext } from '../request/request.ts'
import { patchOptionsOf, type FieldValidation } from '../codec/write-options.ts'
import { answerWrite } from './answer-write.ts'
import { applyObject } from './apply.ts'
import { checkIfMatch } from './if-match.ts'
import { checkNameInUrl } from './name-in-url.ts'
import type { ResourceHandler } from './parts.ts'
import { isApply } from './read-apply.ts'
import { readPatch, type Patch } from './read-patch.ts'
import { managerOfRequest } from './request-manager.ts'
import { wantedForm } from './wanted-form.ts'

/** The patched object, decoded and checked like a body that was sent. */
export async function patched(
  context: RequestContext,
  resource: Resource,
  to: { old: KubeObject; patch: Patch; fieldValidation: FieldValidation },
): Promise<KubeObject> {
  const { info, isLarge } = context
  const { patch, fieldValidation } = to
  if (isLarge === true) await nextTurn()
  const steps = patch.steps(to.old)
  const value = isLarge === true ? await inTurns(steps) : finished(steps)
  if (isLarge === true) await nextTurn()
  const wording = patch.wording(value)
  const object = decodeValue(context, resource, { value, fieldValidation, wording })
  checkNameInUrl(object.metadata.name ?? '', info.name)
  return object
}

export const patchObject: ResourceHandler = async (context, resource, parts) => {
  if (isApply(context)) return await applyObject(context, resource, parts)
  const { info, user, warnings } = context
  const form = wantedForm(context, resource, parts)
  const options = patchOptionsOf(info.query, { isApply: false, dialect: parts.dialect })
  const kind = objectKindOf(resource)
  const patch = await readPatch(context, kind.patchSchema, options.fieldValidation)
  const written = await parts.registry.update({
    resource,
    namespace: info.namespace,
    name: info.name,
    subresource: info.subresource,
    user,
    dryRun: options.dryRun,
    manager: managerOfRequest(context, options.fieldManager),
    warnings,
    context,
    change: async (now, entry) => {
      checkIfMatch(context, resource, entry)
      const object = await patched(context, resource, {
        old: kind.fromWorking(now),
        patch,
        fieldValidation: options.fieldValidation,
      })
      return kind.toWorking(object)
    },
  })
  return await answerWrite(form, written, { resource, dryRun: options.dryRun })
}
