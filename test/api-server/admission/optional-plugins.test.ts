/** Plugins that are off by default and need no configuration. */
import { describe, expect, test } from 'vitest'
import type { Authorizer } from '../../../components/api-server/authz/authorizer.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { internalError } from '../../../components/machinery/objects/status-error.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { admissionWorld } from './world.ts'

const inA = (name: string, more: object = {}): KubeObject => ({
  metadata: { name, namespace: 'a' },
  ...more,
})
const pod = (spec: object = {}): KubeObject => inA('p', { spec: { containers: [], ...spec } })

describe('AlwaysAdmit and AlwaysDeny', () => {
  test('admit all and deny all', async () => {
    const admits = admissionWorld(['AlwaysAdmit'])
    expect(await admits.outcome({ resource: admits.resources.pods, object: pod() })).toBe(
      'admitted',
    )
    const { outcome, resources } = admissionWorld(['AlwaysDeny'])
    for (const operation of ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] as const) {
      expect(await outcome({ resource: resources.pods, operation, name: 'p' })).toBe(
        '403 pods "p" is forbidden: admission control is denying all modifications',
      )
    }
  })
})

describe('AlwaysPullImages', () => {
  const { admit, resources } = admissionWorld(['AlwaysPullImages'])
  const resource = resources.pods
  const policies = async (spec: object, more: object = {}): Promise<unknown[]> => {
    const object = await admit({ resource, object: pod(spec), ...more })
    const {
      initContainers = [],
      containers,
      ephemeralContainers = [],
    } = object?.['spec'] as {
      initContainers?: KubeObject[]
      containers: KubeObject[]
      ephemeralContainers?: KubeObject[]
    }
    return [...initContainers, ...containers, ...ephemeralContainers].map(
      (one) => one['imagePullPolicy'] as unknown,
    )
  }
  const one = { name: 'c', image: 'i', imagePullPolicy: 'Never' }
  test('sets the policy of every container', async () => {
    const spec = { initContainers: [one], containers: [one, { ...one, imagePullPolicy: 'Always' }] }
    expect(await policies(spec)).toEqual(['Always', 'Always', 'Always'])
    expect(await policies(spec, { subresource: 'status' })).toEqual(['Never', 'Never', 'Always'])
  })
  test('leaves an update without new images alone', async () => {
    const old = pod({ containers: [one] })
    const update = { operation: 'UPDATE', old } as const
    expect(await policies({ containers: [one] }, update)).toEqual(['Never'])
    expect(await policies({ containers: [{ ...one, image: 'new' }] }, update)).toEqual(['Always'])
  })
})

describe('DenyServiceExternalIPs', () => {
  const { outcome, resources } = admissionWorld(['DenyServiceExternalIPs'])
  const resource = resources.services
  const service = (...externalIPs: string[]): KubeObject => inA('s', { spec: { externalIPs } })
  const denied = '403 services "s" is forbidden: Use of external IPs is denied by admission control'
  test('denies addresses that the Service does not have already', async () => {
    expect(await outcome({ resource, object: service() })).toBe('admitted')
    expect(await outcome({ resource, object: service('1.2.3.4') })).toBe(denied)
    const update = { resource, operation: 'UPDATE', old: service('1.2.3.4', '5.6.7.8') } as const
    expect(await outcome({ ...update, object: service('5.6.7.8') })).toBe('admitted')
    expect(await outcome({ ...update, object: service('5.6.7.8', '9.9.9.9') })).toBe(denied)
  })
})

describe('ExtendedResourceToleration', () => {
  const { admit, resources } = admissionWorld(['ExtendedResourceToleration'])
  const tolerationsOf = async (spec: object) =>
    (await admit({ resource: resources.pods, object: pod(spec) }))?.['spec'].tolerations as unknown
  const wants = (...names: string[]) => ({
    name: 'c',
    resources: { requests: Object.fromEntries(names.map((name) => [name, '1'])) },
  })
  const added = (key: string) => ({ key, operator: 'Exists', effect: 'NoSchedule' })
  test('tolerates the taint of each extended resource, by name', async () => {
    expect(
      await tolerationsOf({
        containers: [wants('cpu', 'example.com/b')],
        initContainers: [wants('example.com/a')],
      }),
    ).toEqual([added('example.com/a'), added('example.com/b')])
    expect(await tolerationsOf({ containers: [wants('cpu')] })).toBeUndefined()
  })
  test('replaces one of the same kind', async () => {
    const short = { ...added('example.com/a'), tolerationSeconds: 5 }
    const other = { key: 'x', operator: 'Exists' }
    expect(
      await tolerationsOf({ containers: [wants('example.com/a')], tolerations: [short, other] }),
    ).toEqual([added('example.com/a'), other])
  })
})

describe('LimitPodHardAntiAffinityTopology', () => {
  const { outcome, resources } = admissionWorld(['LimitPodHardAntiAffinityTopology'])
  const within = (topologyKey: string, kind: string) =>
    outcome({
      resource: resources.pods,
      object: pod({ affinity: { podAntiAffinity: { [kind]: [{ topologyKey }] } } }),
    })
  const required = 'requiredDuringSchedulingIgnoredDuringExecution'
  test('allows required anti-affinity on hosts alone', async () => {
    expect(await within('kubernetes.io/hostname', required)).toBe('admitted')
    expect(await within('zone', required)).toBe(
      '403 pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed',
    )
    expect(await within('zone', 'preferredDuringSchedulingIgnoredDuringExecution')).toBe('admitted')
  })
})

describe('NamespaceExists', () => {
  const { outcome, reader, resources } = admissionWorld(['NamespaceExists'])
  reader.put(resources.namespaces, { metadata: { name: 'a' } })
  test('rejects every write in a namespace that is not there', async () => {
    const { pods: resource } = resources
    for (const operation of ['CREATE', 'UPDATE', 'DELETE'] as const) {
      expect(await outcome({ resource, operation, namespace: 'a' })).toBe('admitted')
      expect(await outcome({ resource, operation, namespace: 'b' })).toBe(
        '404 namespaces "b" not found',
      )
    }
    const node = { metadata: { name: 'n' } }
    expect(await outcome({ resource: resources.nodes, object: node })).toBe('admitted')
  })
})

describe('NamespaceAutoProvision', () => {
  function world(fault?: Error) {
    const reader = new FakeReader()
    const made = admissionWorld(['NamespaceAutoProvision', 'NamespaceLifecycle'], {
      reader,
      client: {
        create: async (resource, _, object) => {
          if (fault !== undefined) throw fault
          reader.put(resource, object)
        },
        updateStatus: async () => {},
      },
    })
    const namespaces = () =>
      reader.list(made.resources.namespaces).map(({ metadata }) => metadata.name)
    return { ...made, namespaces }
  }

  test('creates the namespace of a new object, once', async () => {
    const { outcome, resources, namespaces } = world()
    const ask = { resource: resources.pods, object: pod() }
    expect(await outcome(ask)).toBe('admitted')
    expect(await outcome(ask)).toBe('admitted')
    expect(namespaces()).toEqual(['a'])
  })

  test('but not for a dry run, an update or a deletion', async () => {
    const { outcome, resources, namespaces } = world()
    const ask = { resource: resources.pods, object: pod() }
    expect(await outcome({ ...ask, dryRun: true })).toContain('404 namespaces "a" not found')
    await outcome({ ...ask, operation: 'UPDATE' })
    await outcome({ ...ask, operation: 'DELETE', object: undefined, namespace: 'a' })
    expect(namespaces()).toEqual([])
  })

  test('and rejects the object when it cannot', async () => {
    const { outcome, resources } = world(internalError('the store is full'))
    expect(await outcome({ resource: resources.pods, object: pod() })).toBe(
      '403 pods "p" is forbidden: Internal error occurred: the store is full',
    )
  })
})

describe('OwnerReferencesPermissionEnforcement', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'u' }
  const owned = (...ownerReferences: object[]): KubeObject =>
    ({ metadata: { name: 'p', namespace: 'a', ownerReferences } }) as unknown as KubeObject
  const may = (...rights: string[]) => {
    const authorizer: Authorizer = {
      name: 'x',
      authorize: ({ verb, resource, subresource }) => {
        const right = `${verb} ${resource}${subresource && `/${subresource}`}`
        return { decision: rights.includes(right) ? 'allow' : 'no-opinion', reason: 'no rule' }
      },
    }
    const made = admissionWorld(['OwnerReferencesPermissionEnforcement'], { authorizer })
    return (object: KubeObject, more: object = {}) =>
      made
        .outcome({ resource: made.resources.pods, object, ...more })
        .then((text) => text.replace('403 pods "p" is forbidden: ', ''))
  }

  test('an owner needs the right to delete the object', async () => {
    const nothing = may()
    expect(await nothing(owned())).toBe('admitted')
    expect(await nothing(owned(owner))).toBe(
      "cannot set an ownerRef on a resource you can't delete: no rule, <nil>",
    )
    const update = { operation: 'UPDATE', old: owned(owner) } as const
    expect(await nothing(owned(owner), update)).toBe('admitted')
    expect(await nothing(owned(), update)).toContain('cannot set an ownerRef')
    expect(await nothing(owned(), { ...update, subresource: 'status' })).toBe('admitted')
    expect(await may('delete pods')(owned(owner))).toBe('admitted')
  })

  test('blocking its deletion needs the right to set its finalizers', async () => {
    const blocking = owned({ ...owner, blockOwnerDeletion: true })
    expect(await may('delete pods')(blocking)).toBe(
      "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: no rule, <nil>",
    )
    const both = may('delete pods', 'update replicasets/finalizers')
    expect(await both(blocking)).toBe('admitted')
    expect(await both(owned({ ...owner, kind: 'Magic', blockOwnerDeletion: true }))).toBe(
      'cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion apps/v1 Kind Magic: no matches for kind "Magic" in version "apps/v1"',
    )
    const before = { operation: 'UPDATE', old: blocking } as const
    const changed = owned({ ...owner, blockOwnerDeletion: true }, { ...owner, uid: 'v' })
    expect(await may('delete pods')(changed, before)).toBe('admitted')
  })
})
