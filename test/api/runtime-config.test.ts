import { describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { servedResources } from '../../components/api/runtime-config.ts'

const resources = resourcesOf(dialects.kubernetes)

function keysServed(runtimeConfig: string): string[] {
  return servedResources(resources, runtimeConfig).served.map(
    ({ group, version, plural }) => `${group}/${version}/${plural}`,
  )
}

describe('runtime configuration', () => {
  it('serves stable versions only by default', () => {
    const { served } = servedResources(resources, '')
    expect(served.length).toBeGreaterThan(50)
    for (const resource of served) expect(resource.version).toMatch(/^v\d+$/)
  })

  it('[VER-012][VER-013] switches versions off and on in one comma-separated value', () => {
    const keys = keysServed('batch/v1=false,networking.k8s.io/v1beta1=true')
    expect(keys).not.toContain('batch/v1/jobs')
    expect(keys).toContain('networking.k8s.io/v1beta1/servicecidrs')
  })

  it('[VER-014] a key without a value means true', () => {
    expect(keysServed('coordination.k8s.io/v1alpha2')).toContain(
      'coordination.k8s.io/v1alpha2/leasecandidates',
    )
  })

  it('[VER-015] names a single resource of a version', () => {
    const off = keysServed('storage.k8s.io/v1/csinodes=false')
    expect(off).not.toContain('storage.k8s.io/v1/csinodes')
    expect(off).toContain('storage.k8s.io/v1/csidrivers')
    const on = keysServed('networking.k8s.io/v1beta1/ipaddresses')
    expect(on).toContain('networking.k8s.io/v1beta1/ipaddresses')
    expect(on).not.toContain('networking.k8s.io/v1beta1/servicecidrs')
  })

  it('warns of a resource that does not exist in a version that does', () => {
    const { warnings } = servedResources(resources, 'storage.k8s.io/v1beta1/csistoragecapacities')
    expect(warnings).toEqual([
      'runtime-config: there is no resource storage.k8s.io/v1beta1/csistoragecapacities',
    ])
  })

  it('[WEBHOOK-030] the beta review group is off until it is named', () => {
    const key = 'authorization.k8s.io/v1beta1/subjectaccessreviews'
    expect(keysServed('')).not.toContain(key)
    expect(keysServed('authorization.k8s.io/v1beta1=true')).toContain(key)
  })

  it('closer keys win over whole stages, wherever they stand', () => {
    const keys = keysServed('v1=true,apps/v1/deployments=true,apps/v1=false,api/all=false')
    expect(keys.every((key) => key.startsWith('/v1/') || key === 'apps/v1/deployments')).toBe(true)
    expect(keys).toContain('/v1/pods')
    expect(keys).toContain('apps/v1/deployments')
    expect(keysServed('api/alpha=true')).toContain(
      'internal.apiserver.k8s.io/v1alpha1/storageversions',
    )
    expect(keysServed('api/beta=true,resource.k8s.io/v1beta1=false')).not.toContain(
      'resource.k8s.io/v1beta1/deviceclasses',
    )
  })

  it.each([
    ['nobody.example.com/v1=true', 'unknown api groups nobody.example.com'],
    ['apps/v9', 'group version apps/v9 that has not been registered'],
    ['apps/v1=maybe', 'invalid value of apps/v1: maybe'],
    ['apps', 'runtime-config invalid key apps'],
    ['apps/v1/deployments/x', 'runtime-config invalid key'],
    ['apps/v1/Deployments', 'resource is always lowercase plural'],
    ['api/all=false', 'invalid key with only api/all=false'],
    ['rbac.authorization.svc.io/v1', 'unknown api groups'],
  ])('refuses %s', (text, message) => {
    expect(() => servedResources(resources, text)).toThrow(message)
  })
})
