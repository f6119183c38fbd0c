import { describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import {
  compareReleases,
  deprecationWarning,
  isDeprecated,
} from '../../components/api/lifecycle.ts'
import { resourcesOf } from '../../components/api/resources.ts'

const resources = resourcesOf(dialects.kubernetes)

describe('lifecycle', () => {
  it('a deprecated version says since when, until when and what to use', () => {
    expect(deprecationWarning(resources.subjectAccessReviewsV1beta1)).toBe(
      'authorization.k8s.io/v1beta1 SubjectAccessReview is deprecated in v1.19+, unavailable in v1.22+; use authorization.k8s.io/v1 SubjectAccessReview',
    )
    expect(deprecationWarning(resources.componentStatuses)).toBe(
      'v1 ComponentStatus is deprecated in v1.19+',
    )
    expect(deprecationWarning(resourcesOf(dialects.svc).tokenReviewsV1beta1)).toContain(
      'use authentication.svc.io/v1 TokenReview',
    )
  })

  it('stable versions, and betas whose time has not come, give no warning', () => {
    for (const resource of resources.all) {
      if (resource.servedByDefault && resource !== resources.componentStatuses) {
        expect(deprecationWarning(resource)).toBeUndefined()
      }
    }
    expect(isDeprecated(resources.serviceCidrs)).toBe(false)
    expect(isDeprecated(resources.serviceCidrs, '1.34')).toBe(true)
  })

  it('releases compare by number', () => {
    expect(compareReleases('1.9', '1.32')).toBeLessThan(0)
    expect(compareReleases('2.0', '1.32')).toBeGreaterThan(0)
    expect(compareReleases('1.32', '1.32')).toBe(0)
  })
})
