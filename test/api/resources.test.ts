import { describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { servedResources } from '../../components/api/runtime-config.ts'
import { apiVersionOf, resourcePath } from '../../components/machinery/objects/resource.ts'

const resources = resourcesOf(dialects.kubernetes)
const served = servedResources(resources, '').served

describe('resources', () => {
  it('are one value per dialect, by name and in the list', () => {
    expect(resourcesOf(dialects.kubernetes)).toBe(resources)
    expect(resources.all).toContain(resources.certificateSigningRequests)
    expect(resources.eventsV1).not.toBe(resources.events)
    expect(resourcesOf(dialects.svc).leases.group).toBe('coordination.svc.io')
    expect(resourcePath(resources.clusterRoleBindings)).toBe(
      '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    )
  })

  it('have distinct paths, and no short name that two served kinds of different names share', () => {
    const paths = resources.all.map((resource) => resourcePath(resource))
    expect(new Set(paths).size).toBe(paths.length)
    const owners = new Map<string, string>()
    for (const resource of resources.all) {
      for (const shortName of resource.shortNames) {
        expect(owners.get(shortName) ?? resource.plural).toBe(resource.plural)
        owners.set(shortName, resource.plural)
      }
    }
  })

  it('name versions that their group knows, and sub-resources in order', () => {
    for (const resource of resources.all) {
      const group = resources.groups.find(({ name }) => name === resource.group)
      expect(group?.versions.map(({ version }) => version)).toContain(resource.version)
      const names = resource.subresources.map(({ name }) => name)
      expect(names).toEqual(names.toSorted())
    }
  })

  it('two versions of a kind are stored in one place and one form', () => {
    const forms = new Map<string, string>()
    for (const { storagePrefix, storageVersion, virtual } of resources.all) {
      if (virtual) continue
      expect(forms.get(storagePrefix) ?? storageVersion.package).toBe(storageVersion.package)
      forms.set(storagePrefix, storageVersion.package)
    }
    expect(resources.eventsV1.storagePrefix).toBe(resources.events.storagePrefix)
    expect(resources.eventsV1.storageVersion).toEqual({ package: 'core/v1', apiVersion: 'v1' })
  })

  it('[VER-001][VER-004][VER-008] versions are named by their level', () => {
    for (const { version } of resources.all) {
      expect(version).toMatch(/^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$/)
    }
  })

  it('a beta carries the releases that deprecate and remove it', () => {
    // The metrics group is not one of upstream's API server.
    const betas = resources.all.filter(
      ({ version, package: name }) => version.includes('beta') && !name.startsWith('metrics/'),
    )
    expect(betas.length).toBeGreaterThan(5)
    for (const { lifecycle } of betas) {
      expect(lifecycle.deprecated).toBeDefined()
      expect(lifecycle.removed).toBeDefined()
    }
  })

  it('[VER-028] a stable version is never planned to go', () => {
    for (const { lifecycle } of served) expect(lifecycle.removed).toBeUndefined()
  })

  it('[VER-027] a replacement is at least as stable', () => {
    const stability = (text: string) => (text.includes('alpha') ? 0 : text.includes('beta') ? 1 : 2)
    for (const { lifecycle, version } of resources.all) {
      if (lifecycle.replacement === undefined) continue
      expect(stability(lifecycle.replacement)).toBeGreaterThanOrEqual(stability(version))
    }
  })

  it.each([
    ['VER-064', 'flowcontrol.apiserver.k8s.io/v1beta3', 'flowSchemas'],
    ['VER-064', 'flowcontrol.apiserver.k8s.io/v1beta3', 'priorityLevelConfigurations'],
    ['VER-065', 'flowcontrol.apiserver.k8s.io/v1beta2', 'flowSchemas'],
    ['VER-069', 'storage.k8s.io/v1beta1', 'csiStorageCapacities'],
    ['VER-070', 'flowcontrol.apiserver.k8s.io/v1beta1', 'flowSchemas'],
    ['VER-071', 'autoscaling/v2beta2', 'horizontalPodAutoscalers'],
    ['VER-072', 'batch/v1beta1', 'cronJobs'],
    ['VER-073', 'discovery.k8s.io/v1beta1', 'endpointSlices'],
    ['VER-076', 'events.k8s.io/v1beta1', 'eventsV1'],
    ['VER-077', 'autoscaling/v2beta1', 'horizontalPodAutoscalers'],
    ['VER-078', 'policy/v1beta1', 'podDisruptionBudgets'],
    ['VER-081', 'node.k8s.io/v1beta1', 'runtimeClasses'],
    ['VER-082', 'admissionregistration.k8s.io/v1beta1', 'mutatingWebhookConfigurations'],
    ['VER-082', 'admissionregistration.k8s.io/v1beta1', 'validatingWebhookConfigurations'],
    ['VER-086', 'apiextensions.k8s.io/v1beta1', 'customResourceDefinitions'],
    ['VER-093', 'apiregistration.k8s.io/v1beta1', 'apiServices'],
    ['VER-093', 'coordination.k8s.io/v1beta1', 'leases'],
    ['VER-093', 'rbac.authorization.k8s.io/v1beta1', 'clusterRoles'],
    ['VER-093', 'scheduling.k8s.io/v1beta1', 'priorityClasses'],
    ['VER-093', 'storage.k8s.io/v1beta1', 'storageClasses'],
    ['VER-094', 'authentication.k8s.io/v1beta1', 'tokenReviews'],
    ['VER-095', 'authorization.k8s.io/v1beta1', 'subjectAccessReviews'],
    ['VER-097', 'certificates.k8s.io/v1beta1', 'certificateSigningRequests'],
    ['VER-101', 'networking.k8s.io/v1beta1', 'ingresses'],
    ['VER-101', 'networking.k8s.io/v1beta1', 'ingressClasses'],
    ['VER-105', 'extensions/v1beta1', 'networkPolicies'],
    ['VER-106', 'apps/v1beta2', 'deployments'],
  ] as const)(
    '%s: %s no longer has its kind %s by default, the replacement serves',
    (_row, old, key) => {
      const { plural } = resources[key]
      expect(served).toContain(resources[key])
      expect(
        served.filter((resource) => apiVersionOf(resource) === old && resource.plural === plural),
      ).toEqual([])
    },
  )

  it('there is no pod security policy', () => {
    expect(resources.all.map(({ plural }) => plural)).not.toContain('podsecuritypolicies')
  })
})
