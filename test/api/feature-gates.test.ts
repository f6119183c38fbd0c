import { describe, expect, it } from 'vitest'
import { compareReleases, servedRelease } from '../../components/api/lifecycle.ts'
import {
  defaultFeatureGates,
  featureGateHelp,
  featureGates,
  parseFeatureGates,
} from '../../components/api/feature-gates.ts'

describe('feature gates', () => {
  it('[VER-019][VER-020] alpha gates are off and beta gates on unless a default is stated', () => {
    // The specification states the default of SystemdWatchdog (NODE-026), upstream those of the others; they beat the rule.
    const stated = {
      DynamicResourceAllocation: false,
      MultiCIDRServiceAllocator: false,
      SystemdWatchdog: false,
      VolumeAttributesClass: false,
    } as const
    for (const [name, gate] of Object.entries(featureGates)) {
      const byStage = gate.stage !== 'ALPHA'
      expect([name, gate.default]).toEqual([
        name,
        (stated as Record<string, boolean>)[name] ?? byStage,
      ])
    }
    expect(parseFeatureGates('').gates).toEqual(defaultFeatureGates)
  })

  it('[VER-056] [VER-058] [VER-059] the listing shows stage and default', () => {
    expect(featureGateHelp()).toEqual(
      expect.arrayContaining([
        'AuthorizeWithSelectors=true|false (BETA - default=true)',
        'ContainerCheckpoint=true|false (BETA - default=true)',
        'AllowUnsafeMalformedObjectDeletion=true|false (ALPHA - default=false)',
        'StructuredAuthenticationConfiguration=true|false (BETA - default=true)',
        'AuthorizeNodeWithSelectors=true|false (BETA - default=true)',
      ]),
    )
  })

  it('every gate says when it reached its stage', () => {
    for (const [name, { stage, history }] of Object.entries(featureGates)) {
      const reached = { ALPHA: 'alpha', BETA: 'beta', GA: 'ga', DEPRECATED: 'deprecated' } as const
      expect(Object.keys(history).at(-1), name).toBe(reached[stage])
      for (const release of Object.values(history)) {
        expect(compareReleases(release, servedRelease), name).toBeLessThanOrEqual(0)
      }
    }
  })

  it('sets each named gate and leaves the others', () => {
    const { gates, warnings } = parseFeatureGates(
      'ContainerCheckpoint=false, AllowUnsafeMalformedObjectDeletion=true',
    )
    expect(gates).toEqual({
      ...defaultFeatureGates,
      ContainerCheckpoint: false,
      AllowUnsafeMalformedObjectDeletion: true,
    })
    expect(warnings).toEqual([])
  })

  it('a stage sets what its gates do not say themselves', () => {
    const { gates } = parseFeatureGates('ContainerCheckpoint=true,AllBeta=false,AllAlpha=true')
    expect(gates.ContainerCheckpoint).toBe(true)
    expect(gates.AuthorizeWithSelectors).toBe(false)
    expect(gates.AllowUnsafeMalformedObjectDeletion).toBe(true)
    expect(gates.ValidatingAdmissionPolicy).toBe(true)
  })

  it('[VER-021] a GA gate set true warns and changes nothing', () => {
    const { gates, warnings } = parseFeatureGates('ValidatingAdmissionPolicy=true')
    expect(gates).toEqual(defaultFeatureGates)
    expect(warnings).toEqual([
      'Setting GA feature gate ValidatingAdmissionPolicy=true. It will be removed in a future release.',
    ])
  })

  it('[VER-023] a GA gate set false is refused', () => {
    expect(() => parseFeatureGates('ValidatingAdmissionPolicy=false')).toThrow(
      'cannot set feature gate ValidatingAdmissionPolicy to false, feature is locked to true',
    )
  })

  it.each([
    ['ServerSideApply=true', 'unrecognized feature gate: ServerSideApply'],
    ['toString=true', 'unrecognized feature gate: toString'],
    ['ContainerCheckpoint', 'missing bool value for ContainerCheckpoint'],
    ['ContainerCheckpoint=on', 'invalid value of ContainerCheckpoint=on'],
  ])('[VER-022] refuses %s', (text, message) => {
    expect(() => parseFeatureGates(text)).toThrow(message)
  })
})
