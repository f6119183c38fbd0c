/** The authentication group: reviews of who a token or a caller is. */
import { groupTable, postOnly, since } from './group-table.ts'

const clusterReview = { namespaced: false, ...postOnly }

export const authentication = groupTable({
  stem: 'authentication',
  package: 'authentication',
  priority: 17_700,
  versions: { v1: 15, v1beta1: 9 },
  kinds: {
    selfSubjectReviews: {
      kind: 'SelfSubjectReview',
      ...clusterReview,
      lifecycle: since('1.28'),
    },
    selfSubjectReviewsV1beta1: {
      kind: 'SelfSubjectReview',
      version: 'v1beta1',
      plural: 'selfsubjectreviews',
      ...clusterReview,
      lifecycle: { introduced: '1.27', deprecated: '1.30', removed: '1.33' },
    },
    tokenReviews: { kind: 'TokenReview', ...clusterReview, lifecycle: since('1.6') },
    tokenReviewsV1beta1: {
      kind: 'TokenReview',
      version: 'v1beta1',
      plural: 'tokenreviews',
      ...clusterReview,
      lifecycle: {
        introduced: '1.4',
        deprecated: '1.19',
        removed: '1.22',
        replacement: 'authentication/v1 TokenReview',
      },
    },
  },
})
