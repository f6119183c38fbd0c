/** Watches caches and calls `reconcile` for each that changes, one after the other; again when it failed. */
import { makeInformer } from '@kubernetes/client-node'
import { config, core, label, listCaches, namespace } from './cluster.ts'
import type { Cache } from './cluster.ts'

const retryMs = 200

export interface Operator {
  /** The newest state that the watch has shown: it may be old. */
  reconcile(name: string, shown: Cache | undefined): Promise<void>
  /** Before the first reconcile. */
  start?(shown: readonly Cache[]): Promise<void>
}

export async function operate({ reconcile, start }: Operator): Promise<void> {
  const path = `/apis/example.com/v1/namespaces/${namespace}/caches`
  const informer = makeInformer<Cache>(config, path, () => listCaches() as never)
  const workers = makeInformer(
    config,
    `/api/v1/namespaces/${namespace}/configmaps`,
    () => core.listNamespacedConfigMap({ namespace, labelSelector: label }),
    label,
  )
  const queue = new Set<string>()
  let isBusy = false
  async function work(): Promise<void> {
    if (isBusy) return
    isBusy = true
    for (const name of queue) {
      queue.delete(name)
      try {
        await reconcile(name, informer.get(name, namespace))
      } catch (error) {
        console.error(`${name}: ${String(error)}`)
        setTimeout(() => enqueue(name), retryMs)
      }
    }
    isBusy = false
  }
  function enqueue(name = ''): void {
    if (name !== '') queue.add(name)
    void work()
  }
  for (const verb of ['add', 'update', 'delete'] as const) {
    informer.on(verb, ({ metadata }) => enqueue(metadata?.name))
    workers.on(verb, ({ metadata }) => enqueue(metadata?.labels?.[label]))
  }
  isBusy = true
  for (const one of [informer, workers]) {
    const begin = (): Promise<void> =>
      one.start().catch(() => new Promise((resolve) => setTimeout(() => resolve(begin()), retryMs)))
    one.on('error', () => setTimeout(() => void begin(), retryMs))
    await begin()
  }
  for (let isStarted = false; !isStarted;)
    try {
      await start?.(informer.list(namespace))
      isStarted = true
    } catch {
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  isBusy = false
  void work()
}
