/**
 * A controller in the test's process: for each ConfigMap `app-*` it keeps a Secret of the same name, and one more with a generated name
 * that the ConfigMap's annotation names. It has the bugs that it is asked to have.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { CoreV1Api, KubeConfig, Watch } from '@kubernetes/client-node'
import type { V1ConfigMap } from '@kubernetes/client-node'
import type { ControllerUnderTest } from '../../explore/controller-under-test.ts'

export interface Bugs {
  /** It makes the generated Secret before it looks for one that it has made already. */
  readonly makesTwice?: boolean
  /** It writes the ConfigMap's annotation over and over. */
  readonly writesForEver?: boolean
  /** It ends where it finds its own lock, which it leaves behind when it is killed. */
  readonly leavesLock?: boolean
}

const namespace = 'default'
const label = 'app'

async function reconcile(api: CoreV1Api, map: V1ConfigMap, bugs: Bugs): Promise<void> {
  const name = map.metadata?.name ?? ''
  const owner = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name,
    uid: map.metadata?.uid ?? '',
  }
  const made = map.metadata?.annotations?.['made']
  if (made !== undefined && bugs.writesForEver !== true) return
  const { items } = await api.listNamespacedSecret({ namespace, labelSelector: `${label}=${name}` })
  const metadata = {
    generateName: `${name}-`,
    labels: { [label]: name },
    ownerReferences: [owner],
  }
  if (bugs.makesTwice === true || items.length === 0)
    await api.createNamespacedSecret({ namespace, body: { metadata } })
  const current = await api.readNamespacedConfigMap({ namespace, name })
  const count = Number(current.metadata?.annotations?.['count'] ?? 0) + 1
  await api.replaceNamespacedConfigMap({
    namespace,
    name,
    body: {
      ...(current.data === undefined ? {} : { data: current.data }),
      metadata: {
        name,
        resourceVersion: current.metadata?.resourceVersion ?? '',
        annotations: {
          made: 'yes',
          ...(bugs.writesForEver === true ? { count: String(count) } : {}),
        },
      },
    },
  })
}

/** Whether it is the first to hold the lock. */
async function locks(config: KubeConfig): Promise<boolean> {
  const body = { metadata: { name: 'lock' } }
  const api = config.makeApiClient(CoreV1Api)
  return await api.createNamespacedConfigMap({ namespace, body }).then(
    () => true,
    () => false,
  )
}

async function operate(config: KubeConfig, bugs: Bugs, signal: AbortSignal): Promise<void> {
  const api = config.makeApiClient(CoreV1Api)
  const watch = new Watch(config)
  while (!signal.aborted) {
    try {
      const { items, metadata } = await api.listNamespacedConfigMap({ namespace })
      const mine = ({ metadata }: V1ConfigMap): boolean =>
        metadata?.name?.startsWith('app-') === true
      for (const map of items.filter(mine)) await reconcile(api, map, bugs)
      const failed = Promise.withResolvers<void>()
      let work = Promise.resolve()
      const controller = await watch.watch(
        `/api/v1/namespaces/${namespace}/configmaps`,
        { resourceVersion: metadata?.resourceVersion },
        (type: string, map: V1ConfigMap) => {
          if (type === 'ERROR') failed.resolve()
          if ((type === 'ADDED' || type === 'MODIFIED') && mine(map))
            work = work.then(() => reconcile(api, map, bugs))
          work.catch(() => failed.resolve())
        },
        () => failed.resolve(),
      )
      signal.addEventListener('abort', () => controller.abort(), { once: true })
      await failed.promise
      controller.abort()
    } catch {
      // It tries again.
    }
    await sleep(20)
  }
}

export function tinyController(bugs: Bugs = {}): ControllerUnderTest {
  return {
    start: (kubeconfig) => {
      const config = new KubeConfig()
      config.loadFromString(kubeconfig)
      const stopping = new AbortController()
      const ended = Promise.withResolvers<string>()
      const work = async (): Promise<void> => {
        if (bugs.leavesLock !== true || (await locks(config)))
          await operate(config, bugs, stopping.signal)
        else ended.resolve('ended with exit code 4')
      }
      const working = work()
      return {
        ended: ended.promise,
        kill: async () => {
          stopping.abort()
          ended.resolve('killed')
          await Promise.race([working, Promise.resolve()])
        },
        output: () => [],
        outputBytes: 0,
      }
    },
  }
}
