import { afterEach, describe, expect, it } from 'vitest'
import type { Namespace } from '../../../components/api/generated/types.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { runNamespaceController } from '../../../components/controller-manager/namespace/namespace.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'
import { staticResources } from '../../support/static-discovery.ts'

let harness: ReconcilerHarness
let failedGroups: readonly string[] = []
afterEach(async () => {
  failedGroups = []
  await harness.stop()
})

const controller = {
  name: 'namespace-controller',
  start: (context: ReconcilerHarness['context'], signal: AbortSignal) =>
    runNamespaceController(
      () => Promise.resolve(staticResources(context.dialect, failedGroups)),
      context,
      signal,
    ),
}

async function start(from?: ReconcilerHarness): Promise<void> {
  harness = createReconcilerHarness(from === undefined ? {} : { cluster: from.cluster })
  if (from === undefined) seed()
  await harness.start(controller)
}

function seed(): void {
  const { cluster, resources } = harness
  cluster.seed(resources.namespaces, {
    metadata: { name: 'shop' },
    spec: { finalizers: [cluster.dialect.namespaceFinalizer] },
    status: { phase: 'Active' },
  })
  const inShop = { namespace: 'shop' }
  cluster.seed(resources.configMaps, { metadata: { name: 'a', ...inShop } })
  cluster.seed(resources.secrets, { metadata: { name: 'b', ...inShop } })
  cluster.seed(resources.deployments, { metadata: { name: 'web', ...inShop } })
  cluster.seed(resources.roles, { metadata: { name: 'r', ...inShop } })
  cluster.seed(resources.configMaps, { metadata: { name: 'elsewhere', namespace: 'default' } })
}

function shop(): Namespace | undefined {
  return harness.cluster.peek<Namespace>(harness.resources.namespaces, 'shop')
}

function condition(type: string) {
  return shop()?.status?.conditions?.find((one) => one.type === type)
}

function leftovers(): string[] {
  return harness.resources.all
    .flatMap((resource) => harness.cluster.all(resource))
    .filter(({ metadata }) => metadata.namespace === 'shop')
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
}

describe('namespace-controller', () => {
  it('deletes everything in the namespace, then the namespace, and nothing else', async () => {
    await start()
    await harness.step(5000)
    expect(leftovers()).toHaveLength(4)
    harness.cluster.remove(harness.resources.namespaces, 'shop')
    expect(shop()?.metadata.deletionTimestamp).toBeDefined()
    await harness.step(2000)
    expect(leftovers()).toEqual([])
    expect(shop()).toBeUndefined()
    expect(harness.cluster.peek(harness.resources.configMaps, 'default/elsewhere')).toBeDefined()
    expect(harness.complaints).toEqual([])
  })

  it('goes on after an answer from before the deletion', async () => {
    await start()
    const { cluster, resources } = harness
    const before = shop()
    let isOld = true
    cluster.react('get', 'namespaces', () => (isOld ? before : undefined))
    cluster.remove(resources.namespaces, 'shop')
    await harness.step(5000)
    expect(leftovers()).toHaveLength(4)
    isOld = false
    await harness.step(3000)
    expect(shop()).toBeUndefined()
  })

  it('works in the other dialect', async () => {
    harness = createReconcilerHarness({ dialect: dialects.svc })
    seed()
    await harness.start(controller)
    harness.cluster.remove(harness.resources.namespaces, 'shop')
    await harness.step(2000)
    expect(shop()).toBeUndefined()
  })

  it('waits for finalizers and says what is left, with upstream’s words', async () => {
    await start()
    const { cluster, resources } = harness
    cluster.change(resources.configMaps, 'shop/a', (object) => {
      object.metadata.finalizers = ['example.com/hold']
    })
    cluster.change(resources.deployments, 'shop/web', (object) => {
      object.metadata.finalizers = ['example.com/hold', 'foregroundDeletion']
    })
    cluster.remove(resources.namespaces, 'shop')
    await harness.step(2000)
    expect(leftovers()).toEqual(['ConfigMap a', 'Deployment web'])
    expect(shop()?.status?.phase).toBe('Terminating')
    expect(condition('NamespaceContentRemaining')).toMatchObject({
      status: 'True',
      reason: 'SomeResourcesRemain',
      message:
        'Some resources are remaining: configmaps. has 1 resource instances, deployments.apps has 1 resource instances',
    })
    expect(condition('NamespaceFinalizersRemaining')).toMatchObject({
      status: 'True',
      reason: 'SomeFinalizersRemain',
      message:
        'Some content in the namespace has finalizers remaining: example.com/hold in 2 resource instances, foregroundDeletion in 1 resource instances',
    })
    expect(condition('NamespaceDeletionContentFailure')).toMatchObject({
      status: 'False',
      reason: 'ContentDeleted',
    })
    cluster.change(resources.deployments, 'shop/web', (object) => {
      delete object.metadata.finalizers
    })
    await harness.step(10_000)
    expect(condition('NamespaceContentRemaining')?.message).toBe(
      'Some resources are remaining: configmaps. has 1 resource instances',
    )
    cluster.change(resources.configMaps, 'shop/a', (object) => {
      delete object.metadata.finalizers
    })
    await harness.step(10_000)
    expect(shop()).toBeUndefined()
  })

  it('waits for pods to end, and looks again every few seconds', async () => {
    await start()
    const { cluster, resources } = harness
    cluster.seed(resources.pods, {
      metadata: { name: 'slow', namespace: 'shop', finalizers: ['agent'] },
      spec: { containers: [], terminationGracePeriodSeconds: 30 },
      status: { phase: 'Running' },
    })
    cluster.remove(resources.namespaces, 'shop')
    await harness.step(2000)
    expect(condition('NamespaceContentRemaining')?.message).toBe(
      'Some resources are remaining: pods. has 1 resource instances',
    )
    cluster.change(resources.pods, 'shop/slow', (pod) => {
      delete pod.metadata.finalizers
    })
    await harness.step(3000)
    expect(shop()).toBeUndefined()
    expect(harness.complaints).toEqual([])
  })

  it('what cannot be deleted does not hold up the rest, and is told', async () => {
    await start()
    const { cluster, resources } = harness
    const allow = cluster.react('deletecollection', 'secrets', () => {
      throw new StatusError('Forbidden', 'secrets is forbidden: not today')
    })
    cluster.remove(resources.namespaces, 'shop')
    await harness.step(2000)
    expect(leftovers()).toEqual(['Secret b'])
    expect(condition('NamespaceDeletionContentFailure')).toMatchObject({
      status: 'True',
      reason: 'ContentDeletionFailed',
      message: 'Failed to delete all resource types, 1 remaining: secrets is forbidden: not today',
    })
    allow()
    await harness.step(20_000)
    expect(shop()).toBeUndefined()
  })

  it('keeps the namespace while the resources of some group are unknown', async () => {
    await start()
    failedGroups = ['stats.example.com/v1']
    harness.cluster.remove(harness.resources.namespaces, 'shop')
    await harness.step(5000)
    expect(leftovers()).toEqual([])
    expect(condition('NamespaceDeletionDiscoveryFailure')).toMatchObject({
      status: 'True',
      reason: 'DiscoveryFailed',
    })
    failedGroups = []
    await harness.step(60_000)
    expect(shop()).toBeUndefined()
  })

  it('a restart goes on where it was', async () => {
    await start()
    const { cluster, resources } = harness
    cluster.change(resources.configMaps, 'shop/a', (object) => {
      object.metadata.finalizers = ['example.com/hold']
    })
    cluster.remove(resources.namespaces, 'shop')
    await harness.step(2000)
    await harness.stop()
    cluster.change(resources.configMaps, 'shop/a', (object) => {
      delete object.metadata.finalizers
    })
    await start(harness)
    await harness.step(2000)
    expect(shop()).toBeUndefined()
  })

  it('leaves another’s finalizer in the namespace alone', async () => {
    await start()
    const { cluster, resources } = harness
    cluster.change(resources.namespaces, 'shop', (object) => {
      object['spec'].finalizers.push('example.com/mine')
    })
    cluster.remove(resources.namespaces, 'shop')
    await harness.step(5000)
    expect(leftovers()).toEqual([])
    expect(shop()?.spec?.finalizers).toEqual(['example.com/mine'])
  })
})
