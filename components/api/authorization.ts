/** The authorization group: reviews of what a user may do. */
import { groupTable, postOnly, since } from './group-table.ts'

const review = { ...postOnly }
const clusterReview = { namespaced: false, ...postOnly }

function beta(introduced: string, kind: string) {
  return {
    version: 'v1beta1',
    lifecycle: {
      introduced,
      deprecated: '1.19',
      removed: '1.22',
      replacement: `authorization/v1 ${kind}`,
    },
  }
}

export const authorization = groupTable({
  stem: 'authorization',
  package: 'authorization',
  priority: 17_600,
  versions: { v1: 15, v1beta1: 9 },
  kinds: {
    localSubjectAccessReviews: {
      kind: 'LocalSubjectAccessReview',
      ...review,
      lifecycle: since('1.19'),
    },
    localSubjectAccessReviewsV1beta1: {
      kind: 'LocalSubjectAccessReview',
      plural: 'localsubjectaccessreviews',
      ...review,
      ...beta('1.2', 'LocalSubjectAccessReview'),
    },
    selfSubjectAccessReviews: {
      kind: 'SelfSubjectAccessReview',
      ...clusterReview,
      lifecycle: since('1.19'),
    },
    selfSubjectAccessReviewsV1beta1: {
      kind: 'SelfSubjectAccessReview',
      plural: 'selfsubjectaccessreviews',
      ...clusterReview,
      ...beta('1.2', 'SelfSubjectAccessReview'),
    },
    selfSubjectRulesReviews: {
      kind: 'SelfSubjectRulesReview',
      ...clusterReview,
      lifecycle: since('1.19'),
    },
    selfSubjectRulesReviewsV1beta1: {
      kind: 'SelfSubjectRulesReview',
      plural: 'selfsubjectrulesreviews',
      ...clusterReview,
      ...beta('1.8', 'SelfSubjectRulesReview'),
    },
    subjectAccessReviews: {
      kind: 'SubjectAccessReview',
      ...clusterReview,
      lifecycle: since('1.6'),
    },
    subjectAccessReviewsV1beta1: {
      kind: 'SubjectAccessReview',
      plural: 'subjectaccessreviews',
      ...clusterReview,
      ...beta('1.2', 'SubjectAccessReview'),
    },
  },
})
