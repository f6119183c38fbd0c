/** What the operator reads and writes. */
import {
  ApiException,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node'
import type { KubernetesObject, V1ConfigMap, V1OwnerReference } from '@kubernetes/client-node'

export interface Cache extends KubernetesObject {
  spec: { size: number; policy?: string; labels?: Record<string, string> }
  status?: { ready?: number; secret?: string; phase?: string }
}

export const namespace = 'default'
export const label = 'example.com/cache'
export const finalizer = 'example.com/registry'
const caches = { group: 'example.com', version: 'v1', namespace, plural: 'caches' }
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)
const apply = setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply)

export const config = new KubeConfig()
config.loadFromDefault()
export const core = config.makeApiClient(CoreV1Api)
export const custom = config.makeApiClient(CustomObjectsApi)

export const isCode = (error: unknown, code: number): boolean =>
  error instanceof ApiException && error.code === code

/** Undefined when the server has no such object. */
export async function unlessGone<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (error) {
    if (isCode(error, 404)) return undefined
    throw error
  }
}

/** The names of the caches, from the server's cache: as old as it may be. */
export async function listCaches(): Promise<{ items: Cache[]; metadata?: object }> {
  return (await custom.listNamespacedCustomObject({ ...caches, resourceVersion: '0' })) as {
    items: Cache[]
  }
}

/** As it is now. */
export const liveCache = (name: string): Promise<Cache | undefined> =>
  unlessGone(custom.getNamespacedCustomObject({ ...caches, name }) as Promise<Cache>)

export async function setFinalizers(name: string, finalizers: string[]): Promise<void> {
  await custom.patchNamespacedCustomObject(
    { ...caches, name, body: { metadata: { finalizers } } },
    merge,
  )
}

export async function setStatus(cache: Cache, status: NonNullable<Cache['status']>): Promise<void> {
  const isNew = Object.entries(status).some(
    ([field, value]) => cache.status?.[field as keyof typeof status] !== value,
  )
  if (!isNew) return
  const name = cache.metadata?.name ?? ''
  await custom.patchNamespacedCustomObjectStatus({ ...caches, name, body: { status } }, merge)
}

/** Replaces the status of the very object that was read: a lost race is a conflict. */
export async function replaceStatus(
  cache: Cache,
  status: NonNullable<Cache['status']>,
): Promise<void> {
  const name = cache.metadata?.name ?? ''
  await custom.replaceNamespacedCustomObjectStatus({ ...caches, name, body: { ...cache, status } })
}

/** The entry of one cache in the registry; undefined removes it. */
export async function setEntry(name: string, text: string | undefined): Promise<void> {
  const data = text === undefined ? {} : { [name]: text }
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'registry' }, data }
  await core.patchNamespacedConfigMap(
    { name: 'registry', namespace, body, fieldManager: `cache-${name}`, force: true },
    apply,
  )
}

const settingsOf = (cache: Cache, data: Record<string, string>) => {
  const name = `${cache.metadata?.name}-settings`
  const metadata = { name, ownerReferences: [ownerOf(cache)] }
  return { name, namespace, body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } }
}

/** What workers read. Settings that are not applied any more are removed. */
export async function setSettings(cache: Cache, data: Record<string, string>): Promise<void> {
  const fieldManager = 'cache-settings'
  await core.patchNamespacedConfigMap(
    { ...settingsOf(cache, data), fieldManager, force: true },
    apply,
  )
}

/** The same, but settings that are there stay. */
export async function addSettings(cache: Cache, data: Record<string, string>): Promise<void> {
  const settings = settingsOf(cache, data)
  await ensure(() => core.createNamespacedConfigMap(settings))
  await core.patchNamespacedConfigMap(settings, merge)
}

export function ownerOf({ metadata }: Cache): V1OwnerReference {
  const { name = '', uid = '' } = metadata ?? {}
  return { apiVersion: 'example.com/v1', kind: 'Cache', name, uid, controller: true }
}

export const metadataOf = (cache: Cache, name: string) => ({
  name,
  labels: { [label]: cache.metadata?.name ?? '' },
  ownerReferences: [ownerOf(cache)],
})

/** The workers of a cache, as they are now. */
export async function workersOf(name: string): Promise<V1ConfigMap[]> {
  const labelSelector = `${label}=${name}`
  return (await core.listNamespacedConfigMap({ namespace, labelSelector })).items
}

/** Creates the object unless it is there. */
export async function ensure(create: () => Promise<unknown>): Promise<void> {
  try {
    await create()
  } catch (error) {
    if (!isCode(error, 409)) throw error
  }
}

export const indexOf = ({ metadata }: V1ConfigMap): number =>
  Number(/\d+$/.exec(metadata?.name ?? '')?.[0])

export async function removeWorker(worker: V1ConfigMap): Promise<void> {
  await unlessGone(core.deleteNamespacedConfigMap({ name: worker.metadata?.name ?? '', namespace }))
}

export const addWorker = (cache: Cache, index: number): Promise<void> =>
  ensure(() =>
    core.createNamespacedConfigMap({
      namespace,
      body: { metadata: metadataOf(cache, `${cache.metadata?.name}-${index}`) },
    }),
  )
