/** Review handlers: POST of each review kind, by its plural, for the router's table of virtual types. */
import type { KubeObject } from '../../machinery/object.ts'
import { decodeBody } from '../decode-body.ts'
import type { RequestContext } from '../request.ts'
import { answerJson } from '../respond.ts'
import { writeOptionsOf } from '../write-options.ts'
import type { ResourceHandler } from './parts.ts'
import type { Reviews } from './reviews.ts'

type Review = (review: KubeObject, context: RequestContext) => KubeObject | Promise<KubeObject>

function handler(review: Review): ResourceHandler {
  return async (context, resource, { dialect }) => {
    const { fieldValidation } = writeOptionsOf(context.info.query, 'CreateOptions', dialect)
    const object = await decodeBody(context, resource, fieldValidation)
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
    selfsubjectrulesreviews: handler((review, { user }) => reviews.selfSubjectRules(review, user)),
    selfsubjectreviews: handler((review, { user }) => reviews.selfSubject(review, user)),
    tokenreviews: handler((review) => reviews.token(review)),
  }
}
