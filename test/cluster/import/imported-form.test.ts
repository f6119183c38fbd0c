/** The form of imported objects, their owners and their order: pure decisions. */
import { describe, expect, it } from 'vitest'
import { importedForm } from '../../../cluster/import/imported-form.ts'
import { importSteps, type ImportedObject } from '../../../cluster/import/import-order.ts'
import { isMadeAnew, withOwners } from '../../../cluster/import/owners.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf, type Resources } from '../../../components/api/resources.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'

const resources = resourcesOf(dialects.kubernetes)
const custom: Resource = {
  ...resources.configMaps,
  group: 'example.com',
  package: 'example.com/v1',
  plural: 'widgets',
  kind: 'Widget',
}

function formOf(resource: Resource, fields: Record<string, unknown>): KubeObject | undefined {
  const { metadata = {}, ...rest } = fields
  return importedForm({ metadata: { name: 'a', ...(metadata as object) }, ...rest }, resource)
}

describe('an imported object', () => {
  it('loses what the server has filled in, and keeps what its user wrote', () => {
    const form = formOf(resources.configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        namespace: 'n',
        uid: 'u',
        resourceVersion: '7',
        generation: 2,
        creationTimestamp: '2026-01-01T00:00:00Z',
        managedFields: [{}],
        selfLink: '/x',
        labels: { a: 'b' },
        annotations: { note: 'x', 'deployment.kubernetes.io/revision': '3' },
        finalizers: ['example.com/cleanup', 'kubernetes.io/pvc-protection'],
      },
      data: { k: 'v' },
      status: { x: 1 },
    })
    expect(form).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'a',
        namespace: 'n',
        labels: { a: 'b' },
        annotations: { note: 'x' },
        finalizers: ['example.com/cleanup'],
      },
      data: { k: 'v' },
    })
  })

  it('keeps its status when it is a custom resource', () => {
    const fields = { status: { phase: 'Ready' } }
    expect(formOf(custom, { ...fields, apiVersion: 'example.com/v1' })).toMatchObject(fields)
    const built = formOf(resources.deployments, { ...fields, apiVersion: 'apps/v1' })
    expect(built).not.toHaveProperty('status')
  })

  it.each<[string, keyof Resources, Record<string, unknown>, unknown]>([
    [
      'a Service gets an address of the new range',
      'services',
      {
        clusterIP: '10.1.2.3',
        clusterIPs: ['10.1.2.3'],
        ipFamilies: ['IPv4'],
        ports: [{ port: 80 }],
      },
      { ports: [{ port: 80 }] },
    ],
    [
      'a headless Service stays so',
      'services',
      { clusterIP: 'None', clusterIPs: ['None'] },
      { clusterIP: 'None' },
    ],
    [
      'a claim is bound anew',
      'persistentVolumeClaims',
      { volumeName: 'pvc-1', storageClassName: 'fast' },
      { storageClassName: 'fast' },
    ],
    [
      'a volume keeps its claim by name',
      'persistentVolumes',
      { claimRef: { namespace: 'n', name: 'c', uid: 'u', resourceVersion: '4' } },
      { claimRef: { namespace: 'n', name: 'c' } },
    ],
    [
      'a Job selects by its new uid',
      'jobs',
      {
        selector: { matchLabels: { 'controller-uid': 'u' } },
        template: {
          metadata: {
            labels: { 'controller-uid': 'u', 'batch.kubernetes.io/job-name': 'a', app: 'x' },
          },
          spec: {},
        },
      },
      { template: { metadata: { labels: { app: 'x' } }, spec: {} } },
    ],
    [
      'a Job with a selector of its user keeps it',
      'jobs',
      { manualSelector: true, selector: { matchLabels: { app: 'x' } } },
      { manualSelector: true, selector: { matchLabels: { app: 'x' } } },
    ],
    [
      'a pod is placed and admitted anew',
      'pods',
      {
        nodeName: 'node-1',
        priority: 0,
        preemptionPolicy: 'PreemptLowerPriority',
        containers: [
          { name: 'c', volumeMounts: [{ name: 'kube-api-access-abc12' }, { name: 'data' }] },
        ],
        volumes: [{ name: 'kube-api-access-abc12' }, { name: 'data' }],
      },
      {
        containers: [{ name: 'c', volumeMounts: [{ name: 'data' }] }],
        volumes: [{ name: 'data' }],
      },
    ],
  ])('%s', (_, name, spec, wanted) => {
    expect(formOf(resources[name] as Resource, { spec })?.['spec']).toEqual(wanted)
  })

  it.each<[string, keyof Resources, Record<string, unknown>]>([
    [
      'objects that are going',
      'configMaps',
      { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
    ],
    [
      'the Service of the API server',
      'services',
      { metadata: { name: 'kubernetes', namespace: 'default' } },
    ],
    ["the cluster's authority", 'configMaps', { metadata: { name: 'kube-root-ca.crt' } }],
    ['tokens of service accounts', 'secrets', { type: 'kubernetes.io/service-account-token' }],
    ['bootstrap tokens', 'secrets', { type: 'bootstrap.kubernetes.io/token' }],
    ['finished pods', 'pods', { status: { phase: 'Succeeded' } }],
    ['finished Jobs', 'jobs', { status: { conditions: [{ type: 'Complete', status: 'True' }] } }],
    [
      'default roles',
      'clusterRoles',
      { metadata: { name: 'edit', labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } } },
    ],
    ["the system's bindings", 'clusterRoleBindings', { metadata: { name: 'system:node' } }],
    ["the system's priorities", 'priorityClasses', { metadata: { name: 'system-node-critical' } }],
  ])('leaves out %s', (_, name, fields) => {
    expect(formOf(resources[name] as Resource, fields)).toBeUndefined()
  })
})

const owned = (by: Record<string, unknown>): KubeObject => ({
  metadata: {
    name: 'o',
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'X', name: 'x', uid: 'x', ...by }],
  },
})

describe('owners', () => {
  it('make their objects anew when a built-in controller has them and they were read', () => {
    const read = new Set(['x'])
    expect(isMadeAnew(owned({ controller: true }), read)).toBe(true)
    expect(isMadeAnew(owned({ controller: true }), new Set())).toBe(false)
    expect(isMadeAnew(owned({}), read)).toBe(false)
    expect(isMadeAnew(owned({ controller: true, apiVersion: 'example.com/v1' }), read)).toBe(false)
    expect(isMadeAnew(owned({ controller: true, apiVersion: 'v1' }), read)).toBe(true)
  })

  it('are named by their new uids, and not at all when they did not come along', () => {
    const renamed = withOwners(owned({}), (uid) => (uid === 'x' ? 'new' : undefined))
    expect(renamed.metadata.ownerReferences?.map(({ uid }) => uid)).toEqual(['new'])
    expect(withOwners(owned({}), () => undefined).metadata).toEqual({ name: 'o' })
  })
})

describe('the order', () => {
  const one = (resource: Resource, uid: string, ...owners: string[]): ImportedObject => ({
    resource,
    uid,
    object: {
      metadata: {
        name: uid,
        ...(owners.length === 0
          ? {}
          : {
              ownerReferences: owners.map((owner) => ({
                apiVersion: 'v1',
                kind: 'X',
                name: owner,
                uid: owner,
              })),
            }),
      },
    },
  })

  it('has namespaces and definitions first, and what refuses objects last', () => {
    const steps = importSteps([
      one(resources.resourceQuotas, 'quota'),
      one(custom, 'widget'),
      one(resources.deployments, 'web'),
      one(resources.configMaps, 'settings'),
      one(resources.services, 'service'),
      one(resources.customResourceDefinitions, 'definition'),
      one(resources.roleBindings, 'binding'),
      one(resources.roles, 'role'),
      one(resources.namespaces, 'shop'),
    ])
    expect(steps.map((step) => step.map(({ uid }) => uid))).toEqual([
      ['shop'],
      ['definition'],
      ['settings'],
      ['role'],
      ['binding'],
      ['service'],
      ['web'],
      ['widget'],
      ['quota'],
    ])
  })

  it('has each owner before what it owns, also in a ring', () => {
    const flat = importSteps([
      one(resources.configMaps, 'c', 'b'),
      one(resources.configMaps, 'b', 'a'),
      one(custom, 'a'),
      one(resources.configMaps, 'r1', 'r2'),
      one(resources.configMaps, 'r2', 'r1'),
    ])
      .flat()
      .map(({ uid }) => uid)
    expect(flat.filter((uid) => 'abc'.includes(uid))).toEqual(['a', 'b', 'c'])
    expect(flat).toHaveLength(5)
  })
})
