/** review-handlers: POST of each review kind, by its plural, for the table of virtual types. */
import { inTurns, nextTurn } from '../../component-base/next-turn.ts'
import { finished } from '../../machinery/values/steps.ts'
import { creatorEntries } from '../../machinery/apply/managed-fields.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { decodeBody } from '../codec/decode-body.ts'
import { ensureNamespace } from '../kinds/metadata.ts'
import type { RequestContext } from '../request/request.ts'
import { answerJson } from '../codec/respond.ts'
import { writeOptionsOf } from '../codec/write-options.ts'
import type { ResourceHandler } from './parts.ts'
import { managerOfRequest } from './request-manager.ts'
import type { Reviews } from './reviews.ts'

type Review = (review: KubeObject, context: RequestContext) => KubeObject | Promise<KubeObject>

/** `isEchoed`: the answer is the posted review with its metadata and field ownership, else a new one. */
function handler(review: Review, isEchoed = true): ResourceHandler {
  return async (context, resource, { dialect, registry, clock }) => {
    const options = writeOptionsOf(context.info.query, 'CreateOptions', dialect)
    const object = await decodeBody(context, resource, options.fieldValidation)
    ensureNamespace(object, context.info.namespace, resource.namespaced)
    if (isEchoed) {
      const creating = registry.tracking.created(object, {
        resource,
        subresource: '',
        manager: managerOfRequest(context, options.fieldManager),
        nowMs: clock.now(),
      })
      const isLarge = context.isLarge === true
      const creator = isLarge ? await inTurns(creating) : finished(creating)
      if (isLarge) await nextTurn()
      if (creator !== undefined) object.metadata.managedFields = creatorEntries(creator)
    } else object.metadata = {}
    return answerJson(201, await review(object, context))
  }
}

export function createReviewHandlers(reviews: Reviews): Readonly<Record<string, ResourceHandler>> {
  return {
    subjectaccessreviews: handler((review) => reviews.subjectAccess(review)),
    localsubjectaccessreviews: handler((review, { info }) =>
      reviews.localSubjectAccess(review, info.namespace),
    ),
    selfsubjectaccessreviews: handler((review, { user }) =>
      reviews.selfSubjectAccess(review, user),
    ),
    selfsubjectrulesreviews: handler(
      (review, { user }) => reviews.selfSubjectRules(review, user),
      false,
    ),
    selfsubjectreviews: handler((review, { user }) => reviews.selfSubject(review, user), false),
    tokenreviews: handler((review) => reviews.token(review)),
  }
}
