/** The quota controller: what quotas say is used, once objects come and go. */
import { afterEach, describe, expect, it } from 'vitest'
import { runResourceQuota } from '../../../components/controller-manager/resource-quota/resource-quota.ts'
import type { ControllerEntry } from '../../../components/controller-manager/controller-context.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { conflict } from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'
import { staticResources } from '../../support/static-discovery.ts'

type Amounts = Record<string, string>

let harness: ReconcilerHarness
afterEach(async () => {
  await harness.stop()
  expect(harness.complaints).toEqual([])
})

const entry: Pick<ControllerEntry, 'name' | 'start'> = {
  name: 'resourcequota-controller',
  start: (context, signal) =>
    runResourceQuota(() => Promise.resolve(staticResources(context.dialect)), context, signal),
}

const inA = (name: string, more: object = {}): KubeObject => ({
  metadata: { name, namespace: 'a' },
  ...more,
})
const pod = (name: string, cpu: string, more: object = {}): KubeObject =>
  inA(name, {
    spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }] },
    status: { phase: 'Running' },
    ...more,
  })

const ofClass = (name: string, priorityClassName: string, spec: object = {}): KubeObject => {
  const { spec: own, ...rest } = pod(name, '1') as KubeObject & { spec: object }
  return { ...rest, spec: { ...own, priorityClassName, ...spec } }
}
const selecting = (scopeName: string, operator: string, ...values: string[]) => ({
  scopeSelector: {
    matchExpressions: [{ scopeName, operator, ...(values.length > 0 && { values }) }],
  },
})

/** A cluster with one quota and these objects, once the controller has settled. */
async function settled(hard: Amounts, objects: [Resource['plural'], KubeObject][], spec = {}) {
  harness = createReconcilerHarness()
  const { cluster, resources } = harness
  const resourceOf = (plural: string): Resource => {
    const found = resources.all.find((one) => one.plural === plural && one.servedByDefault)
    if (found === undefined) throw new Error(`no ${plural}`)
    return found
  }
  cluster.seed(resources.resourceQuotas, inA('q', { spec: { hard, ...spec } }))
  for (const [plural, object] of objects) cluster.seed(resourceOf(plural), object)
  await harness.start(entry)
  await harness.step(100)
  const status = () =>
    cluster.peek(resources.resourceQuotas, 'a/q')?.['status'] as
      { hard: Amounts; used: Amounts } | undefined
  const writes = () => cluster.writes.filter((write) => write.includes('resourcequotas'))
  return { ...harness, status, writes, resourceOf }
}

describe('a quota gets its limits and what is used', () => {
  it.each<[string, Amounts, [string, KubeObject][], object, Amounts]>([
    ['nothing', { pods: '3', secrets: '1' }, [], {}, { pods: '0', secrets: '0' }],
    [
      'pods that have not finished, and all as objects',
      { pods: '3', 'requests.cpu': '4', 'count/pods': '9' },
      [
        ['pods', pod('x', '500m')],
        ['pods', pod('y', '1')],
        ['pods', pod('z', '2', { status: { phase: 'Succeeded' } })],
        ['pods', { ...pod('w', '2'), metadata: { name: 'w', namespace: 'b' } }],
      ],
      {},
      { pods: '2', 'requests.cpu': '1500m', 'count/pods': '3' },
    ],
    [
      'only pods in its scopes',
      { pods: '3' },
      [
        ['pods', pod('x', '1')],
        ['pods', inA('y', { spec: { containers: [{ name: 'c' }] } })],
      ],
      { scopes: ['BestEffort'] },
      { pods: '1' },
    ],
    [
      'only pods of a priority class that its selector names',
      { pods: '3', 'requests.cpu': '9' },
      [
        ['pods', ofClass('x', 'high')],
        ['pods', ofClass('y', 'low')],
        ['pods', pod('z', '1')],
      ],
      selecting('PriorityClass', 'In', 'high'),
      { pods: '1', 'requests.cpu': '1' },
    ],
    [
      'only pods without certain priority classes',
      { pods: '3' },
      [
        ['pods', ofClass('x', 'high')],
        ['pods', ofClass('y', 'low')],
        ['pods', pod('z', '1')],
      ],
      selecting('PriorityClass', 'NotIn', 'high'),
      { pods: '2' },
    ],
    [
      'only pods that have a priority class and must end by a time',
      { pods: '3' },
      [
        ['pods', ofClass('x', 'high', { activeDeadlineSeconds: 60 })],
        ['pods', ofClass('y', 'high')],
        ['pods', inA('z', { spec: { containers: [{ name: 'c' }], activeDeadlineSeconds: 60 } })],
      ],
      { scopes: ['Terminating'], ...selecting('PriorityClass', 'Exists') },
      { pods: '1' },
    ],
    [
      'services and claims',
      { services: '5', 'services.loadbalancers': '1', 'requests.storage': '10Gi' },
      [
        ['services', inA('s', { spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } })],
        ['services', inA('t', { spec: { type: 'ClusterIP' } })],
        [
          'persistentvolumeclaims',
          inA('c', { spec: { resources: { requests: { storage: '3Gi' } } } }),
        ],
      ],
      {},
      { services: '2', 'services.loadbalancers': '1', 'requests.storage': '3Gi' },
    ],
    [
      'any kind by number, and none that is not served',
      { 'count/deployments.apps': '5', 'count/widgets.example.com': '1' },
      [['deployments', inA('d', { spec: {} })]],
      {},
      { 'count/deployments.apps': '1' },
    ],
  ])('of %s', async (_what, hard, objects, spec, used) => {
    const { status } = await settled(hard, objects, spec)
    expect(status()).toEqual({ hard, used })
  })
})

describe('a quota is counted anew', () => {
  it('when a pod goes or finishes, and not when one comes', async () => {
    const { status, cluster, resources, step } = await settled({ pods: '5' }, [
      ['pods', pod('x', '1')],
      ['pods', pod('y', '1')],
    ])
    expect(status()?.used).toEqual({ pods: '2' })
    const client = cluster.client().resource(resources.pods)
    await client.create(pod('new', '1'))
    await step(1000)
    expect(status()?.used).toEqual({ pods: '2' })
    await client.delete({ namespace: 'a', name: 'x' })
    await step(1000)
    expect(status()?.used).toEqual({ pods: '2' })
    const y = await client.get({ namespace: 'a', name: 'y' })
    await client.updateStatus({ ...y, status: { phase: 'Failed' } })
    await step(1000)
    expect(status()?.used).toEqual({ pods: '1' })
  })

  it('when an object of a counted kind goes', async () => {
    const { status, cluster, resources, step } = await settled({ 'count/deployments.apps': '5' }, [
      ['deployments', inA('d', { spec: {} })],
    ])
    expect(status()?.used).toEqual({ 'count/deployments.apps': '1' })
    await cluster.client().resource(resources.deployments).delete({ namespace: 'a', name: 'd' })
    await step(1000)
    expect(status()?.used).toEqual({ 'count/deployments.apps': '0' })
  })

  it('when its limits change', async () => {
    const { status, cluster, resources, step } = await settled({ pods: '5' }, [
      ['pods', pod('x', '1')],
    ])
    const client = cluster.client().resource(resources.resourceQuotas)
    const quota = await client.get({ namespace: 'a', name: 'q' })
    await client.update({ ...quota, spec: { hard: { cpu: '4', 'count/secrets': '1' } } })
    await step(1000)
    const hard = { cpu: '4', 'count/secrets': '1' }
    expect(status()).toEqual({ hard, used: { cpu: '1', 'count/secrets': '0' } })
  })

  it('after the sync period, whatever happened', async () => {
    const { status, cluster, resources, step } = await settled({ pods: '5' }, [])
    await cluster.client().resource(resources.pods).create(pod('x', '1'))
    await step(299_000)
    expect(status()?.used).toEqual({ pods: '0' })
    await step(2000)
    expect(status()?.used).toEqual({ pods: '1' })
  })

  it('after a lost race', async () => {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    cluster.seed(resources.resourceQuotas, inA('q', { spec: { hard: { pods: '1' } } }))
    const stop = cluster.react('update', 'resourcequotas/status', () => {
      stop()
      throw conflict(resources.resourceQuotas, 'q', 'the object has been modified')
    })
    await harness.start(entry)
    await harness.step(5000)
    const quota = cluster.peek(resources.resourceQuotas, 'a/q')
    expect(quota?.['status']).toEqual({ hard: { pods: '1' }, used: { pods: '0' } })
  })
})

it('nothing is written while nothing changes', async () => {
  const { writes, step } = await settled({ pods: '5', 'count/secrets': '3' }, [
    ['pods', pod('x', '1')],
  ])
  const before = writes().length
  for (let minute = 0; minute < 30; minute += 1) await step(60_000)
  expect(writes()).toHaveLength(before)
})
