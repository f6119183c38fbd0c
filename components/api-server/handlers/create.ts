/** create: body -> draft -> registry -> 201 with the stored bytes. */
import { decodeBody, toStorage } from '../decode-body.ts'
import { answerBytes } from '../respond.ts'
import { writeOptionsOf } from '../write-options.ts'
import { wantedForm, writtenBytes, type ResourceHandler } from './parts.ts'

export const createObject: ResourceHandler = async (context, resource, parts) => {
  const { info, user, warnings } = context
  const form = wantedForm(context, resource, parts)
  const options = writeOptionsOf(info.query, 'CreateOptions', parts.dialect)
  const object = await decodeBody(context, resource, options.fieldValidation)
  const written = await parts.registry.create({
    resource,
    namespace: info.namespace,
    object: toStorage(resource, object),
    user,
    dryRun: options.dryRun,
    warnings,
  })
  return answerBytes(201, writtenBytes(form, written, options.dryRun))
}
