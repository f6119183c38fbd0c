/** Bug: it remembers the generated name of the Secret only after it has made it. Killed in between, it makes another one. */
import {
  addWorker,
  core,
  finalizer,
  indexOf,
  liveCache,
  metadataOf,
  namespace,
  removeWorker,
  setEntry,
  setFinalizers,
  setSettings,
  setStatus,
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
  let secret = cache.status?.secret
  if (secret === undefined) {
    const metadata = {
      ...metadataOf(cache, ''),
      name: undefined,
      generateName: `${name}-password-`,
    }
    const made = await core.createNamespacedSecret({ namespace, body: { metadata } })
    secret = made.metadata?.name ?? ''
    await setStatus(cache, { secret })
  }
  const { size, policy = 'lru', labels } = cache.spec
  await setSettings(cache, { ...labels, policy })
  const workers = await workersOf(name)
  for (const worker of workers) if (indexOf(worker) >= size) await removeWorker(worker)
  const there = new Set(workers.map(indexOf))
  for (let index = 0; index < size; index += 1) if (!there.has(index)) await addWorker(cache, index)
  await setStatus(cache, { ready: size, secret })
}

await operate({ reconcile })
