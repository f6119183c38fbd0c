/** create: body -> draft -> registry -> 201 with the stored bytes. */
import { objectKindOf } from '../../api/object-kind.ts'
import { nextTurn } from '../../component-base/next-turn.ts'
import { decodeBody } from '../codec/decode-body.ts'
import { writeOptionsOf } from '../codec/write-options.ts'
import { noteNamed } from '../request/request.ts'
import { answerWrite } from './answer-write.ts'
import type { ResourceHandler } from './parts.ts'
import { managerOfRequest } from './request-manager.ts'
import { wantedForm } from './wanted-form.ts'

export const createObject: ResourceHandler = async (context, resource, parts) => {
  const { info, user, warnings } = context
  const form = wantedForm(context, resource, parts)
  const { dryRun, fieldManager, fieldValidation } = writeOptionsOf(
    info.query,
    'CreateOptions',
    parts.dialect,
  )
  const object = await decodeBody(context, resource, fieldValidation)
  noteNamed(context, object)
  context.isOwned = (object.metadata.ownerReferences ?? []).length > 0
  if (context.isLarge === true) await nextTurn()
  const written = await parts.registry.create({
    resource,
    namespace: info.namespace,
    object: objectKindOf(resource).toWorking(object),
    user,
    dryRun,
    manager: managerOfRequest(context, fieldManager),
    warnings,
    context,
  })
  return answerWrite(form, written, { resource, dryRun })
}
