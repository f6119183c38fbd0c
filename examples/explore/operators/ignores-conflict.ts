/** Bug: it replaces the status and takes every error for "somebody else was faster, so I shall be called again". */
import {
  addWorker,
  core,
  ensure,
  finalizer,
  indexOf,
  liveCache,
  metadataOf,
  namespace,
  removeWorker,
  replaceStatus,
  setEntry,
  setFinalizers,
  setSettings,
  workersOf,
} from '../cluster.ts'
import { operate } from '../operate.ts'

async function reconcile(name: string): Promise<void> {
  // What the watch shows may be old: a Cache that is gone would get its entry back.
  const cache = await liveCache(name)
  if (cache === undefined) return
  const { finalizers = [], deletionTimestamp } = cache.metadata ?? {}
  const others = finalizers.filter((one) => one !== finalizer)
  if (deletionTimestamp !== undefined) {
    if (others.length === finalizers.length) return
    await setEntry(name, undefined)
    await setFinalizers(name, others)
    return
  }
  if (others.length === finalizers.length) await setFinalizers(name, [...others, finalizer])
  await setEntry(name, `${name}.caches.example.com`)
  const secret = `${name}-password`
  const body = { metadata: metadataOf(cache, secret) }
  await ensure(() => core.createNamespacedSecret({ namespace, body }))
  const { size, policy = 'lru', labels } = cache.spec
  await setSettings(cache, { ...labels, policy })
  const workers = await workersOf(name)
  for (const worker of workers) if (indexOf(worker) >= size) await removeWorker(worker)
  const there = new Set(workers.map(indexOf))
  for (let index = 0; index < size; index += 1) if (!there.has(index)) await addWorker(cache, index)
  if (cache.status?.ready === size) return
  await replaceStatus(cache, { ready: size, secret }).catch(() => {})
}

await operate({ reconcile })
