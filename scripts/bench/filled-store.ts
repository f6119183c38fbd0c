/** A store with many Pods, written past the API server: creating them one by one would take longer than all benches. */
import { encodeForStore } from '../../components/api-server/watch-cache/object-bytes.ts'
import { storeRoot } from '../../components/api-server/watch-cache/store-keys.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { openSqliteStore } from '../../components/store/sqlite-store.ts'
import type { World } from './world.ts'

/** All of them are in it. */
export const filledNamespace = 'filled'
export const filledPath = `/api/v1/namespaces/${filledNamespace}/pods`
export const nameOf = (index: number): string => `pod-${String(index).padStart(6, '0')}`
const atOnce = 1000

/** Adds `count` copies of the world's Pod, and their namespace, to a store that no server has open. */
export async function fillStore(world: World, storeName: string, count: number): Promise<void> {
  const store = await openSqliteStore({ path: world.file(storeName) })
  const pod = JSON.parse(world.pod.toString()) as KubeObject
  const put = async (key: string, object: KubeObject): Promise<void> => {
    const value = encodeForStore(object)
    const result = await store.txn({ key: `${storeRoot}${key}`, expectedRevision: 0, value })
    if (!result.ok) throw new Error(`${key} is there already`)
  }
  await put(`namespaces/${filledNamespace}`, {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name: filledNamespace, uid: 'namespace' },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  })
  for (let from = 0; from < count; from += atOnce) {
    const indexes = Array.from({ length: Math.min(atOnce, count - from) }, (_, at) => from + at)
    await Promise.all(
      indexes.map((index) => {
        const name = nameOf(index)
        const metadata = { ...pod.metadata, name, namespace: filledNamespace, uid: `uid-${index}` }
        return put(`pods/${filledNamespace}/${name}`, { ...pod, metadata })
      }),
    )
  }
  await store.close()
}
