/** update: PUT of an object or of a sub-resource of its kind. Creates a missing object if the kind allows it. */
import { objectKindOf } from '../../api/object-kind.ts'
import { nextTurn } from '../../component-base/next-turn.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { bodyOf, decodeBytes } from '../codec/decode-body.ts'
import { noteNamed } from '../request/request.ts'
import { writeOptionsOf } from '../codec/write-options.ts'
import { answerWrite } from './answer-write.ts'
import { ensureMayCreate } from './may-create.ts'
import { checkNameInUrl } from './name-in-url.ts'
import type { ResourceHandler } from './parts.ts'
import { managerOfRequest } from './request-manager.ts'
import { wantedForm } from './wanted-form.ts'

export const updateObject: ResourceHandler = async (context, resource, parts) => {
  const { info, user, warnings } = context
  const form = wantedForm(context, resource, parts)
  const options = writeOptionsOf(info.query, 'UpdateOptions', parts.dialect)
  const body = await bodyOf(context)
  const { fieldValidation } = options
  const sent = await decodeBytes(context, resource, { body, fieldValidation })
  noteNamed(context, sent)
  context.sentVersion = sent.metadata.resourceVersion ?? ''
  checkNameInUrl(sent.metadata.name ?? '', info.name)
  const mayCreate =
    resource.createOnUpdate && info.subresource === '' && !sent.metadata.resourceVersion
  let unused: KubeObject | undefined = sent
  // Hooks change the draft, so after a lost race the body is decoded again. Its unknown fields have been reported by then.
  const draft = async (): Promise<KubeObject> => {
    const fresh =
      unused ?? (await decodeBytes(context, resource, { body, fieldValidation: 'Ignore' }))
    unused = undefined
    if (context.isLarge === true) await nextTurn()
    return objectKindOf(resource).toWorking(fresh)
  }
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
    change: draft,
    ...(mayCreate && {
      createInstead: async () => {
        await ensureMayCreate(context, parts)
        return await draft()
      },
    }),
  })
  return await answerWrite(form, written, { resource, dryRun: options.dryRun })
}
