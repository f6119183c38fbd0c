/** Classes of attributes of claims and volumes (the gate VolumeAttributesClass). */
import { describe, expect, it } from 'vitest'
import { defaultFeatureGates } from '../../../../components/api/feature-gates.ts'
import type { KubeObject } from '../../../../components/machinery/objects/object.ts'
import { strategyRuns } from '../../../support/strategy-runs.ts'

const gates = { ...defaultFeatureGates, VolumeAttributesClass: true }
const claims = {
  off: strategyRuns('persistentVolumeClaims'),
  on: strategyRuns('persistentVolumeClaims', { gates }),
}
const volumes = {
  off: strategyRuns('persistentVolumes'),
  on: strategyRuns('persistentVolumes', { gates }),
}

const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
const csi = { driver: 'example.com', volumeHandle: 'h' }
const volumeSpec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } }

function withClass(spec: object, name?: string) {
  return { spec: { ...spec, ...(name === undefined ? {} : { volumeAttributesClassName: name }) } }
}

const bound = (claim: KubeObject): KubeObject => ({ ...claim, status: { phase: 'Bound' } })

describe('a claim', () => {
  it('keeps its class of attributes with the gate, and loses it without', () => {
    const wanted = withClass(claimSpec, 'gold')
    expect(claims.on.created(wanted)['spec']).toHaveProperty('volumeAttributesClassName', 'gold')
    const { off } = claims
    expect(off.created(wanted)['spec']).not.toHaveProperty('volumeAttributesClassName')
    expect(claims.on.createFaults(withClass(claimSpec, 'No_Name'))).toEqual([
      expect.stringContaining('spec.volumeAttributesClassName: Invalid value: "No_Name"'),
    ])
  })

  it.each<[string, string | undefined, string | undefined, string[]]>([
    ['gets one', undefined, 'gold', []],
    ['changes it', 'silver', 'gold', []],
    ['keeps it', 'gold', 'gold', []],
    [
      'may not lose it',
      'gold',
      undefined,
      ['spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden'],
    ],
    [
      'may not empty it',
      'gold',
      '',
      [
        'spec.volumeAttributesClassName: Forbidden: update from non-nil value to an empty string is forbidden',
      ],
    ],
  ])('that is bound %s', (_, before, now, faults) => {
    const old = bound(claims.on.created(withClass(claimSpec, before)))
    expect(claims.on.updateFaults(old, withClass(claimSpec, now))).toEqual(faults)
  })

  it('that is not bound yet may not change it', () => {
    const old = claims.on.created(withClass(claimSpec, 'silver'))
    expect(claims.on.updateFaults(old, withClass(claimSpec, 'gold')).join()).toContain(
      'spec: Forbidden: spec is immutable after creation except',
    )
  })

  it('without the gate may not change the class that it has', () => {
    const old = bound(claims.on.created(withClass(claimSpec, 'silver')))
    expect(claims.off.updateFaults(old, withClass(claimSpec, 'gold'))).toEqual([
      'spec.volumeAttributesClassName: Forbidden: update is forbidden when the VolumeAttributesClass feature gate is disabled',
    ])
  })

  it('says in its status which class it has only with the gate, or if it said so before', () => {
    const old = bound(claims.on.created(withClass(claimSpec)))
    const status = { phase: 'Bound', currentVolumeAttributesClassName: 'gold' }
    const told = claims.on.updated(old, { ...old, status }, 'status')
    expect(told['status']).toEqual(status)
    expect(claims.off.updated(old, { ...old, status }, 'status')['status']).toEqual({
      phase: 'Bound',
    })
    expect(claims.off.updated(told, { ...old, status }, 'status')['status']).toEqual(status)
  })
})

describe('a volume', () => {
  it('keeps its class of attributes with the gate, and loses it without', () => {
    const wanted = withClass({ ...volumeSpec, csi }, 'gold')
    expect(volumes.on.created(wanted)['spec']).toHaveProperty('volumeAttributesClassName', 'gold')
    expect(volumes.on.createFaults(wanted)).toEqual([])
    const { off } = volumes
    expect(off.created(wanted)['spec']).not.toHaveProperty('volumeAttributesClassName')
  })

  it.each([
    [
      { hostPath: { path: '/a' } },
      'gold',
      ['spec.csi: Required value: has to be specified when using volumeAttributesClassName'],
    ],
    [
      { csi },
      '',
      ['spec.volumeAttributesClassName: Required value: an empty string is disallowed'],
    ],
  ])('from %j has no class %j', (source, name, faults) => {
    expect(volumes.on.createFaults(withClass({ ...volumeSpec, ...source }, name))).toEqual(faults)
  })

  it('may change its class with the gate, but not lose it', () => {
    const spec = { ...volumeSpec, csi }
    const old = volumes.on.created(withClass(spec, 'silver'))
    expect(volumes.on.updateFaults(old, withClass(spec, 'gold'))).toEqual([])
    expect(volumes.on.updateFaults(old, withClass(spec))).toEqual([
      'spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden',
    ])
    expect(volumes.off.updateFaults(old, withClass(spec, 'gold'))).toEqual([
      'spec.volumeAttributesClassName: Forbidden: update is forbidden when the VolumeAttributesClass feature gate is disabled',
    ])
  })
})
