/** apply: PATCH with an apply configuration, merged by field ownership. It creates an object that does not exist. */
import { nextTurn } from '../../component-base/next-turn.ts'
import { objectKindOf } from '../../api/object-kind.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { conflict } from '../../machinery/objects/status-error.ts'
import { decodeValue } from '../codec/decode-body.ts'
import { applyTo } from '../registry/apply.ts'
import { setManagedFields } from '../registry/field-tracking.ts'
import { workingDraft } from '../registry/working-state.ts'
import type { RequestContext } from '../request/request.ts'
import { answerWrite } from './answer-write.ts'
import { checkIfMatch } from './if-match.ts'
import { ensureMayCreate } from './may-create.ts'
import { checkNameInUrl } from './name-in-url.ts'
import type { Parts, ResourceHandler } from './parts.ts'
import { readApply, type ReadApply } from './read-apply.ts'
import { wantedForm } from './wanted-form.ts'

/** The draft that applying the configuration to `live` makes; `unchanged` makes the draft of a no-op. */
type AppliedTo = (live: KubeObject, unchanged: () => KubeObject) => Promise<KubeObject>

function applyingTo(
  context: RequestContext,
  resource: Resource,
  of: { sent: ReadApply; empty: KubeObject; parts: Parts },
): AppliedTo {
  const { sent, empty, parts } = of
  const isLarge = context.isLarge === true
  const by = { tracking: parts.registry.tracking, empty }
  return async (live, unchanged) => {
    if (isLarge) await nextTurn()
    const { object: value, managedFields } = await parts.registry.tracking.run(
      resource,
      applyTo(live, sent.request, by),
      { isLarge },
    )
    sent.reportFault()
    if (isLarge) await nextTurn()
    const draft =
      value === undefined
        ? unchanged()
        : objectKindOf(resource).toWorking(
            decodeValue(context, resource, { value, fieldValidation: 'Ignore' }),
          )
    checkNameInUrl(draft.metadata.name ?? '', context.info.name)
    setManagedFields(draft, managedFields)
    return draft
  }
}

/** Throws 409 for a configuration with the uid of an object that is gone. */
function checkNew({ metadata: { uid } }: KubeObject, resource: Resource, name: string): void {
  if (!uid) return
  throw conflict(
    resource,
    name,
    `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
  )
}

/** Answers 201 when the apply created the object. Throws 409 when another field manager owns a field that it changes. */
export const applyObject: ResourceHandler = async (context, resource, parts) => {
  const { info, user, warnings } = context
  const form = wantedForm(context, resource, parts)
  const sent = await readApply(context, resource, parts)
  const { dryRun } = sent.options
  const kind = objectKindOf(resource)
  const empty = kind.empty()
  const appliedTo = applyingTo(context, resource, { sent, empty, parts })
  const written = await parts.registry.update({
    resource,
    namespace: info.namespace,
    name: info.name,
    subresource: info.subresource,
    user,
    dryRun,
    warnings,
    context,
    change: async (now, entry) => {
      checkIfMatch(context, resource, entry)
      return await appliedTo(kind.fromWorking(now), () => workingDraft(now, entry))
    },
    ...(info.subresource === '' && {
      createInstead: async () => {
        await ensureMayCreate(context, parts)
        const draft = await appliedTo(empty, () => structuredClone(empty))
        checkNew(draft, resource, info.name)
        return draft
      },
    }),
  })
  return await answerWrite(form, written, { resource, dryRun })
}
