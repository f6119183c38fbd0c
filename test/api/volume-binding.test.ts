import { describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { matchingVolume } from '../../components/api/volume-binding.ts'
import { claim, volume } from '../support/volumes.ts'

const dialect = dialects.kubernetes

describe('the volume that a claim gets', () => {
  it.each([
    ['Available', 'v'],
    ['Pending', undefined],
    ['Released', undefined],
    ['Failed', undefined],
  ])('a free one in phase %s: %s', (phase, name) => {
    const found = matchingVolume(claim('c'), [volume('v', { phase })], { dialect })
    expect(found?.metadata.name).toBe(name)
  })

  it('that names the claim is taken in any phase', () => {
    const named = volume('v', { claim: 'c c-uid', phase: 'Pending' })
    expect(matchingVolume(claim('c'), [named], { dialect })).toBe(named)
  })
})
