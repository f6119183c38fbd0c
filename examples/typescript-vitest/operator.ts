/**
 * Keeps a Deployment for each Website, and an entry in the ConfigMap `hosts`. The entry is outside of what the garbage collector
 * knows: a finalizer removes it before the Website goes.
 */
import {
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node'
import type { KubeConfig, KubernetesListObject, KubernetesObject } from '@kubernetes/client-node'

export interface Website extends KubernetesObject {
  spec: { image: string; replicas: number }
  status?: { readyReplicas?: number }
}

export interface Operator {
  /** Resolves when nothing is being reconciled any more. */
  stop(): Promise<void>
}

const finalizer = 'example.com/host'
const label = 'example.com/website'
const retryMs = 200
const apply = setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply)
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)

/** What makes the cluster fit one Website. */
function createReconciler(config: KubeConfig, namespace: string) {
  const apps = config.makeApiClient(AppsV1Api)
  const core = config.makeApiClient(CoreV1Api)
  const custom = config.makeApiClient(CustomObjectsApi)
  const websites = { group: 'example.com', version: 'v1', namespace, plural: 'websites' }

  /** Each Website applies its own key: a key that it applies no longer is removed. */
  const applyHost = (name: string, data: Record<string, string>) =>
    core.patchNamespacedConfigMap(
      {
        name: 'hosts',
        namespace,
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'hosts' }, data },
        fieldManager: `website-${name}`,
        force: true,
      },
      apply,
    )
  const setFinalizers = (name: string, finalizers: string[]) =>
    custom.patchNamespacedCustomObject(
      { ...websites, name, body: { metadata: { finalizers } } },
      merge,
    )

  function deploymentOf({ metadata, spec }: Website) {
    const { name = '', uid = '' } = metadata ?? {}
    const labels = { [label]: name }
    const owner = { apiVersion: 'example.com/v1', kind: 'Website', name, uid, controller: true }
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, labels, ownerReferences: [owner] },
      spec: {
        replicas: spec.replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: 'web', image: spec.image }] },
        },
      },
    }
  }

  async function reconcile(website: Website): Promise<void> {
    const { name = '', finalizers = [], deletionTimestamp } = website.metadata ?? {}
    const others = finalizers.filter((one) => one !== finalizer)
    if (deletionTimestamp !== undefined) {
      if (others.length === finalizers.length) return
      await applyHost(name, {})
      await setFinalizers(name, others)
      return
    }
    // Before the entry: a Website that is deleted in between must not leave it behind.
    if (others.length === finalizers.length) await setFinalizers(name, [...others, finalizer])
    await applyHost(name, { [name]: `${name}.example.com` })
    const deployment = await apps.patchNamespacedDeployment(
      {
        name,
        namespace,
        body: deploymentOf(website),
        fieldManager: 'website-operator',
        force: true,
      },
      apply,
    )
    const readyReplicas = deployment.status?.readyReplicas ?? 0
    if (website.status?.readyReplicas === readyReplicas) return
    await custom.patchNamespacedCustomObjectStatus(
      { ...websites, name, body: { status: { readyReplicas } } },
      merge,
    )
  }
  return { reconcile, apps, custom, websites }
}

/** Watches one namespace. Resolves when it knows what is there. */
export async function startOperator(config: KubeConfig, namespace: string): Promise<Operator> {
  const { reconcile, apps, custom, websites } = createReconciler(config, namespace)
  const websiteInformer = makeInformer<Website>(
    config,
    `/apis/example.com/v1/namespaces/${namespace}/websites`,
    () => custom.listNamespacedCustomObject(websites) as Promise<KubernetesListObject<Website>>,
  )
  const deploymentInformer = makeInformer(
    config,
    `/apis/apps/v1/namespaces/${namespace}/deployments`,
    () => apps.listNamespacedDeployment({ namespace, labelSelector: label }),
    label,
  )
  const informers = [websiteInformer, deploymentInformer]

  // Names, each once. Events only say where to look; reconcile looks at the newest state.
  const queue = new Set<string>()
  const timers = new Set<NodeJS.Timeout>()
  let hasStopped = false
  let working: Promise<void> | undefined
  async function work(): Promise<void> {
    for (const name of queue) {
      queue.delete(name)
      const website = websiteInformer.get(name, namespace)
      if (website === undefined || hasStopped) continue
      await reconcile(website).catch(() => later(() => enqueue(name)))
    }
    working = undefined
  }
  function enqueue(name = ''): void {
    queue.add(name)
    working ??= work()
  }
  function later(what: () => void): void {
    const timer = setTimeout(() => {
      timers.delete(timer)
      if (!hasStopped) what()
    }, retryMs)
    timers.add(timer)
  }

  for (const verb of ['add', 'update'] as const) {
    websiteInformer.on(verb, ({ metadata }) => enqueue(metadata?.name))
  }
  for (const verb of ['add', 'update', 'delete'] as const) {
    deploymentInformer.on(verb, ({ metadata }) => enqueue(metadata?.labels?.[label]))
  }
  for (const informer of informers) {
    informer.on('error', () => later(() => void informer.start()))
    await informer.start()
  }
  return {
    stop: async () => {
      hasStopped = true
      for (const timer of timers) clearTimeout(timer)
      await Promise.all(informers.map((informer) => informer.stop()))
      await working
    },
  }
}
