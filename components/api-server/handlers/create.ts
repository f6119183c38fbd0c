/** create: body -> draft -> registry -> 201 with the stored bytes. */
import { nextTurn } from '../../component-base/next-turn.ts'
import { decodeBody, toStorage } from '../codec/decode-body.ts'
import { noteNamed } from '../request/request.ts'
import { answerForm } from '../codec/respond.ts'
import { writeOptionsOf } from '../codec/write-options.ts'
import { managerOfRequest, wantedForm, writtenBytes, type ResourceHandler } from './parts.ts'

export const createObject: ResourceHandler = async (context, resource, parts) => {
  const { info, user, warnings } = context
  const form = wantedForm(context, resource, parts)
  const options = writeOptionsOf(info.query, 'CreateOptions', parts.dialect)
  const object = await decodeBody(context, resource, options.fieldValidation)
  noteNamed(context, object)
  if (context.isLarge === true) await nextTurn()
  const written = await parts.registry.create({
    resource,
    namespace: info.namespace,
    object: toStorage(resource, object),
    user,
    dryRun: options.dryRun,
    manager: managerOfRequest(context, options.fieldManager),
    warnings,
    context,
  })
  return answerForm(
    201,
    form,
    await writtenBytes(form, written, { resource, dryRun: options.dryRun }),
  )
}
