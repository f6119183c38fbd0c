/** Deletions that controllers carry on: of a namespace with all that is in it, and of owners in each form of propagation. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Cluster } from '../../cluster/cluster.ts'
import { resourcesOf, type Resources } from '../../components/api/resources.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { resourcePath, type Resource } from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { eventually } from '../support/eventually.ts'
import { createPlace } from './place.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

/** Collected every 20 s: the other tests run meanwhile. */
let unscheduled: (() => Promise<KubeObject | undefined>) | undefined

describe.each(['kubernetes', 'svc'] as const)('deletion, %s', (dialect) => {
  let cluster: Cluster
  let resources: Resources

  beforeAll(async () => {
    cluster = await place.up(dialect, ['--nodes', '1', '--dialect', dialect])
    resources = resourcesOf(cluster.client.dialect)
    unscheduled ??= await deletedUnscheduled()
  })

  /** A pod that is deleted before it has a node; reads it. */
  async function deletedUnscheduled(): Promise<() => Promise<KubeObject | undefined>> {
    const namespace = await newNamespace('unscheduled')
    await create(resources.pods, namespace, {
      metadata: { name: 'p', finalizers: ['example.com/hold'] },
      spec: {
        nodeSelector: { is: 'nowhere' },
        containers: [{ name: 'c', image: 'example.com/app:1' }],
      },
    })
    await remove(at(resources.pods, namespace, 'p'), {})
    const { client } = cluster
    const { pods } = resources
    return () => client.resource(pods).get({ namespace, name: 'p' })
  }

  const at = (resource: Resource, namespace: string, name?: string) =>
    resourcePath(resource, { namespace, ...(name === undefined ? {} : { name }) })
  const create = async (
    resource: Resource,
    namespace: string,
    object: object,
  ): Promise<KubeObject> =>
    await cluster.client
      .resource(resource)
      .create({ ...object, metadata: { namespace, ...(object as KubeObject).metadata } })
  const find = async (resource: Resource, namespace: string, name: string) => {
    try {
      return await cluster.client.resource(resource).get({ namespace, name })
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return undefined
      throw error
    }
  }
  const listed = async (resource: Resource, namespace: string): Promise<string[]> =>
    (await cluster.client.resource(resource).list({ namespace })).items.map(
      ({ metadata }) => metadata.name ?? '',
    )
  const newNamespace = async (name: string): Promise<string> => {
    await cluster.client.resource(resources.namespaces).create({ metadata: { name } })
    return name
  }
  const remove = async (path: string, body: unknown): Promise<unknown> =>
    await cluster.client.rest.json({ method: 'DELETE', path, body })

  /** An owner and a dependent, ConfigMaps. */
  async function pair(namespace: string, owner: string, finalizers: string[] = []): Promise<void> {
    const { metadata } = await create(resources.configMaps, namespace, {
      metadata: { name: owner },
    })
    await create(resources.configMaps, namespace, {
      metadata: {
        name: `${owner}-child`,
        finalizers,
        ownerReferences: [
          {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            name: owner,
            uid: metadata.uid,
            blockOwnerDeletion: true,
          },
        ],
      },
    })
  }

  test('[DEL-001] a namespace goes after everything in it, of whatever kind', async () => {
    const namespace = await newNamespace('doomed')
    const other = await newNamespace('kept')
    for (const where of [namespace, other]) {
      await create(resources.configMaps, where, { metadata: { name: 'c' } })
      await create(resources.secrets, where, { metadata: { name: 's' } })
      await create(resources.services, where, {
        metadata: { name: 'svc' },
        spec: { ports: [{ port: 80 }], selector: { app: 'x' } },
      })
      await create(resources.deployments, where, {
        metadata: { name: 'd' },
        spec: {
          selector: { matchLabels: { app: 'x' } },
          template: {
            metadata: { labels: { app: 'x' } },
            spec: { containers: [{ name: 'c', image: 'example.com/app:1' }] },
          },
        },
      })
    }
    const held = { metadata: { name: 'held', finalizers: ['example.com/hold'] } }
    await create(resources.configMaps, namespace, held)
    await eventually(async () => expect(await listed(resources.pods, namespace)).toHaveLength(1))
    await remove(at(resources.namespaces, '', namespace), {})

    const kinds = [
      resources.secrets,
      resources.services,
      resources.deployments,
      resources.replicaSets,
      resources.pods,
      resources.endpointSlices,
      resources.serviceAccounts,
    ]
    await eventually(async () => {
      expect(await listed(resources.configMaps, namespace)).toEqual(['held'])
      for (const resource of kinds) expect(await listed(resource, namespace)).toEqual([])
    })
    // What is still there holds the namespace.
    expect((await find(resources.namespaces, '', namespace))?.['status'].phase).toBe('Terminating')
    await cluster.client
      .resource(resources.configMaps)
      .patch({ namespace, name: 'held' }, { metadata: { finalizers: null } }, { type: 'merge' })
    await eventually(async () => {
      expect(await find(resources.namespaces, '', namespace)).toBeUndefined()
    })
    expect(await listed(resources.secrets, other)).toContain('s')
    expect(await listed(resources.deployments, other)).toEqual(['d'])
  })

  test('[DEL-005] orphanDependents true keeps the dependents without the reference, false does not keep them', async () => {
    const namespace = await newNamespace('orphans')
    await pair(namespace, 'a')
    await remove(at(resources.configMaps, namespace, 'a'), { orphanDependents: true })
    await eventually(async () => {
      expect(await find(resources.configMaps, namespace, 'a')).toBeUndefined()
    })
    const child = await find(resources.configMaps, namespace, 'a-child')
    expect(child?.metadata.ownerReferences).toBeUndefined()
    expect(child?.metadata.deletionTimestamp).toBeUndefined()

    await pair(namespace, 'b')
    await remove(at(resources.configMaps, namespace, 'b'), { orphanDependents: false })
    await eventually(async () => {
      expect(await find(resources.configMaps, namespace, 'b-child')).toBeUndefined()
    })
  })

  test('[DEL-007] Orphan lets go of dependents, Background takes them later, Foreground first', async () => {
    const namespace = await newNamespace('propagation')
    const { configMaps } = resources
    await pair(namespace, 'o')
    await remove(at(configMaps, namespace, 'o'), { propagationPolicy: 'Orphan' })
    await eventually(async () => {
      expect(await find(configMaps, namespace, 'o')).toBeUndefined()
    })
    expect((await find(configMaps, namespace, 'o-child'))?.metadata.ownerReferences).toBeUndefined()

    // A dependent that something holds shows the order.
    const hold = ['example.com/hold']
    const release = (name: string): Promise<KubeObject> =>
      cluster.client
        .resource(configMaps)
        .patch({ namespace, name }, { metadata: { finalizers: null } }, { type: 'merge' })
    await pair(namespace, 'b', hold)
    await remove(at(configMaps, namespace, 'b'), { propagationPolicy: 'Background' })
    expect(await find(configMaps, namespace, 'b')).toBeUndefined()
    await eventually(async () => {
      const child = await find(configMaps, namespace, 'b-child')
      expect(child?.metadata.deletionTimestamp).toBeDefined()
    })
    await release('b-child')

    await pair(namespace, 'f', hold)
    await remove(at(configMaps, namespace, 'f'), { propagationPolicy: 'Foreground' })
    await eventually(async () => {
      const child = await find(configMaps, namespace, 'f-child')
      expect(child?.metadata.deletionTimestamp).toBeDefined()
    })
    const owner = await find(configMaps, namespace, 'f')
    expect(owner?.metadata.finalizers).toEqual(['foregroundDeletion'])
    await release('f-child')
    await eventually(async () => {
      expect(await listed(configMaps, namespace)).not.toContain('f')
      expect(await listed(configMaps, namespace)).not.toContain('f-child')
    })
  })
})

test('a pod that is deleted before it has a node is marked failed and deleted', async () => {
  await eventually(async () => {
    expect((await unscheduled?.())?.['status'].phase).toBe('Failed')
  })
})
