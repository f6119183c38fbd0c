/** @kubernetes/client-node: typed clients, watches, and an informer that stays right while the API server is restarted and killed. */
import { setTimeout as delay } from 'node:timers/promises'
import {
  ApiException,
  AppsV1Api,
  AuthorizationV1Api,
  CoreV1Api,
  CoordinationV1Api,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  VersionApi,
  Watch,
} from '@kubernetes/client-node'
import type {
  Informer,
  ObjectCache,
  V1ConfigMap,
  V1NetworkPolicy,
  V1Pod,
} from '@kubernetes/client-node'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { builtOnce } from './built.ts'
import { openPlace } from './place.ts'
import type { PlacedCluster } from './place.ts'

const namespace = 'default'
let cluster: PlacedCluster
let config: KubeConfig
let core: CoreV1Api

beforeAll(async () => {
  await builtOnce()
  cluster = openPlace(inject('sharedHome')).cluster('client-node')
  await cluster.skiff('up', '--nodes', '1')
  config = new KubeConfig()
  config.loadFromFile(cluster.kubeconfig)
  core = config.makeApiClient(CoreV1Api)
})
afterAll(async () => {
  await cluster.skiff('down')
})

const pod = (name: string): V1Pod => ({
  metadata: { name, labels: { app: name } },
  spec: { containers: [{ name: 'main', image: 'example.com/app:1' }] },
})
const configMap = (name: string, value: string): V1ConfigMap => ({
  metadata: { name, labels: { informed: 'yes' } },
  data: { value },
})

test('typed clients create, read, list, patch, replace and delete', async () => {
  const version = await config.makeApiClient(VersionApi).getCode()
  expect(version).toMatchObject({ major: '1', minor: '32' })

  const created = await core.createNamespacedPod({ namespace, body: pod('typed') })
  expect(created.metadata?.creationTimestamp).toBeInstanceOf(Date)
  await eventually(async () => {
    const { status } = await core.readNamespacedPod({ namespace, name: 'typed' })
    expect(status?.phase).toBe('Running')
    expect(status?.containerStatuses?.[0]?.ready).toBe(true)
  })
  const listed = await core.listNamespacedPod({ namespace, labelSelector: 'app=typed' })
  expect(listed.items.map((one) => one.metadata?.name)).toEqual(['typed'])
  expect(listed.metadata?.resourceVersion).toMatch(/^\d+$/)

  const patched = await core.patchNamespacedPod(
    { namespace, name: 'typed', body: { metadata: { annotations: { note: 'x' } } } },
    setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch),
  )
  expect(patched.metadata?.annotations).toMatchObject({ note: 'x' })
  const apps = config.makeApiClient(AppsV1Api)
  await apps.createNamespacedDeployment({
    namespace,
    body: {
      metadata: { name: 'typed' },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'deployed' } },
        template: {
          metadata: { labels: { app: 'deployed' } },
          spec: { containers: [{ name: 'main', image: 'example.com/app:1' }] },
        },
      },
    },
  })
  await eventually(async () => {
    const { status } = await apps.readNamespacedDeployment({ namespace, name: 'typed' })
    expect(status?.availableReplicas).toBe(2)
  })
  const scale = await apps.readNamespacedDeploymentScale({ namespace, name: 'typed' })
  scale.spec = { replicas: 1 }
  await apps.replaceNamespacedDeploymentScale({ namespace, name: 'typed', body: scale })
  await eventually(async () => {
    const pods = await core.listNamespacedPod({ namespace, labelSelector: 'app=deployed' })
    expect(pods.items).toHaveLength(1)
  })
  await apps.deleteNamespacedDeployment({ namespace, name: 'typed' })
  await core.deleteNamespacedPod({ namespace, name: 'typed', gracePeriodSeconds: 0 })
  const gone = core.readNamespacedPod({ namespace, name: 'typed' })
  const error = await gone.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ApiException)
  expect(error).toMatchObject({ code: 404 })

  const review = await config.makeApiClient(AuthorizationV1Api).createSelfSubjectAccessReview({
    body: { spec: { resourceAttributes: { verb: 'delete', resource: 'nodes' } } },
  })
  expect(review.status?.allowed).toBe(true)
  // A node may be Ready before its first heartbeat.
  const leases = await eventually(async () => {
    const list = await config
      .makeApiClient(CoordinationV1Api)
      .listNamespacedLease({ namespace: 'kube-node-lease' })
    expect(list.items.map((lease) => lease.metadata?.name)).toEqual(['node-1'])
    return list
  })
  // A MicroTime: its type keeps what is below a millisecond.
  expect(String(leases.items[0]?.spec?.renewTime)).not.toBe('Invalid Date')
})

test('the client for objects of any kind finds their paths by discovery', async () => {
  const objects = KubernetesObjectApi.makeApiClient(config)
  const header = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'any', namespace },
  }
  const body: V1NetworkPolicy = { ...header, spec: { podSelector: {} } }
  const created = await objects.create(body)
  expect(created.metadata?.uid).toMatch(/^[0-9a-f-]{36}$/)
  const read = await objects.read<V1NetworkPolicy>(header)
  expect(read.metadata?.name).toBe('any')
  await objects.delete(body)
})

test('a watch tells of each change once, in order', async () => {
  const seen: string[] = []
  const { metadata } = await core.listNamespacedConfigMap({ namespace })
  const resourceVersion = metadata?.resourceVersion ?? ''
  const query = { resourceVersion, labelSelector: 'informed' }
  let ended: unknown = 'not yet'
  const watching = await new Watch(config).watch(
    `/api/v1/namespaces/${namespace}/configmaps`,
    query,
    (type, object: V1ConfigMap) => {
      seen.push(`${type} ${object.metadata?.name} ${object.data?.['value']}`)
    },
    (error: unknown) => {
      ended = error
    },
  )
  await core.createNamespacedConfigMap({ namespace, body: configMap('watched', '1') })
  await core.replaceNamespacedConfigMap({
    namespace,
    name: 'watched',
    body: configMap('watched', '2'),
  })
  await core.deleteNamespacedConfigMap({ namespace, name: 'watched' })
  await eventually(() => expect(seen).toHaveLength(3))
  expect(seen).toEqual(['ADDED watched 1', 'MODIFIED watched 2', 'DELETED watched 2'])
  expect(ended).toBe('not yet')
  watching.abort()
})

/** Creates, changes and deletes ConfigMaps until told to stop, over all refused and broken connections. */
async function keepWriting(stop: AbortSignal): Promise<{ writes: number }> {
  let writes = 0
  const attempt = async (write: () => Promise<unknown>): Promise<void> => {
    try {
      await write()
      writes += 1
    } catch {
      await delay(20) // the server is away, or an earlier attempt did it after all
    }
  }
  for (let round = 0; !stop.aborted; round += 1) {
    const name = `written-${round % 10}`
    await attempt(() =>
      core.createNamespacedConfigMap({ namespace, body: configMap(name, `created ${round}`) }),
    )
    const body = configMap(name, `changed ${round}`)
    await attempt(() => core.replaceNamespacedConfigMap({ namespace, name, body }))
    if (round % 3 === 0) await attempt(() => core.deleteNamespacedConfigMap({ namespace, name }))
  }
  return { writes }
}

type Mirror = Map<string, string>

/** An informer that is started again whenever it gives up, as its documentation advises, and what its events amount to. */
async function informed(): Promise<{
  informer: Informer<V1ConfigMap> & ObjectCache<V1ConfigMap>
  mirror: Mirror
  restarts: () => number
}> {
  const informer = makeInformer<V1ConfigMap>(
    config,
    `/api/v1/namespaces/${namespace}/configmaps`,
    () => core.listNamespacedConfigMap({ namespace, labelSelector: 'informed=yes' }),
    'informed=yes',
  )
  const mirror: Mirror = new Map()
  let restarts = 0
  const set = ({ metadata }: V1ConfigMap): void => {
    mirror.set(metadata?.name ?? '', metadata?.resourceVersion ?? '')
  }
  informer.on('add', set)
  informer.on('update', set)
  informer.on('delete', ({ metadata }) => mirror.delete(metadata?.name ?? ''))
  informer.on('error', () => {
    restarts += 1
    setTimeout(() => void informer.start(), 100)
  })
  await informer.start()
  return { informer, mirror, restarts: () => restarts }
}

test('an informer stays right over restarts and kills of the API server under writes', async () => {
  const { informer, mirror, restarts } = await informed()
  const stop = new AbortController()
  const writing = keepWriting(stop.signal)
  for (const words of [
    ['restart', 'api-server'],
    ['fault', 'kill', 'api-server'],
    ['restart', 'api-server'],
    ['fault', 'kill', 'api-server'],
  ] as const) {
    await delay(300)
    await cluster.skiff(...words)
    await eventually(async () => {
      await core.getAPIResources()
    })
  }
  await delay(300)
  stop.abort()
  expect((await writing).writes).toBeGreaterThan(5)

  const states = (items: readonly V1ConfigMap[]) =>
    items
      .map(
        ({ metadata, data }) => `${metadata?.name} ${metadata?.resourceVersion} ${data?.['value']}`,
      )
      .toSorted()
  const { items } = await core.listNamespacedConfigMap({ namespace, labelSelector: 'informed' })
  expect(items.length).toBeGreaterThan(0)
  await eventually(() => expect(states(informer.list())).toEqual(states(items)))
  expect([...mirror].map(([name, version]) => `${name} ${version}`).toSorted()).toEqual(
    items.map(({ metadata }) => `${metadata?.name} ${metadata?.resourceVersion}`).toSorted(),
  )
  expect(restarts()).toBeGreaterThan(0)

  // It goes on: the next write arrives as an event.
  await core.createNamespacedConfigMap({ namespace, body: configMap('last', 'one') })
  await eventually(() => expect(mirror.has('last')).toBe(true))
  await informer.stop()
})
