import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../components/client/client.ts'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { chooseMonitors } from '../../monitors/choose-monitors.ts'
import { runMonitors, type MonitorRun } from '../../monitors/run-monitors.ts'
import { eventually } from '../support/eventually.ts'
import { deployment, statefulSet } from '../support/workloads.ts'
import { startLiveCluster, type LiveCluster } from './live-cluster.ts'

const resources = resourcesOf(dialects.kubernetes)
const namespace = 'default'

let live: LiveCluster
let client: Client
beforeAll(async () => {
  live = await startLiveCluster()
  client = live.client
})
afterAll(async () => await live[Symbol.asyncDispose]())

const monitored = async (...chosen: Parameters<typeof chooseMonitors>[0]): Promise<MonitorRun> =>
  await runMonitors({ client, clock: systemClock, monitors: await chooseMonitors(chosen, client) })

const settled = async (run: MonitorRun): Promise<readonly string[]> => {
  expect(await run.settle()).toBe(true)
  return run.violations.map(({ monitor, text }) => `${monitor}: ${text}`)
}

const configMap = (name: string, data: Record<string, string>): KubeObject => ({
  metadata: { name, namespace },
  data,
})

describe('monitors on a running cluster', () => {
  it('are silent while workloads come, roll and go', async () => {
    await using run = await monitored()
    const deployments = client.resource(resources.deployments)
    await deployments.create(deployment('web', { replicas: 2 }) as KubeObject)
    await client
      .resource(resources.statefulSets)
      .create(statefulSet('db', { replicas: 2 }) as KubeObject)
    const isReady = async (name: string, count: number): Promise<void> => {
      const { status } = await deployments.get({ namespace, name })
      expect(status?.readyReplicas).toBe(count)
    }
    await eventually(() => isReady('web', 2))
    await client
      .resource(resources.deployments)
      .patch({ namespace, name: 'web' }, { spec: { replicas: 3 } }, { type: 'merge' })
    await eventually(() => isReady('web', 3))
    await deployments.delete({ namespace, name: 'web' })
    const pods = client.resource(resources.pods)
    await eventually(async () => {
      const { items } = await pods.list({ namespace })
      expect(items.filter(({ metadata }) => metadata.name?.startsWith('web'))).toEqual([])
    })
    expect(await settled(run)).toEqual([])
    const { monitors, changes, writes, notes } = await run.stop()
    expect(monitors.map(({ violations }) => violations)).toEqual([0, 0, 0, 0, 0, 0])
    expect([changes > 20, writes > 20, notes]).toEqual([true, true, []])
  })

  it('name the object, the revision and who wrote it', async () => {
    await using run = await monitored({
      kind: 'cm',
      expression: "!has(object.data) || !('password' in object.data)",
    })
    const writer = live.as('jane', { groups: ['system:masters'], userAgent: 'editor/1.0' })
    const made = await writer
      .resource(resources.configMaps)
      .create(configMap('open', { password: 'x' }))
    const { uid = '', resourceVersion = '' } = made.metadata
    expect(await settled(run)).toEqual([
      `configmaps-1: ConfigMap default/open (uid ${uid}) of revision ${resourceVersion} does not fulfil !has(object.data) || !('password' in object.data)`,
    ])
    expect(run.violations[0]).toMatchObject({
      monitor: 'configmaps-1',
      object: { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'open', uid },
      revisions: [resourceVersion],
      writers: [
        { revision: resourceVersion, user: 'jane', userAgent: 'editor/1.0', verb: 'create' },
      ],
    })
  })

  it('tell an object that begins to break an expression once, and again after it was mended', async () => {
    await using run = await monitored({
      name: 'never shrinks',
      kind: 'ConfigMap',
      expression: 'oldObject == null || int(object.data.size) >= int(oldObject.data.size)',
    })
    const configMaps = client.resource(resources.configMaps)
    const write = async (size: number): Promise<void> => {
      const patch = { data: { size: String(size) } }
      await configMaps.patch({ namespace, name: 'sized' }, patch, { type: 'merge' })
    }
    await configMaps.create(configMap('sized', { size: '5' }))
    for (const size of [4, 3, 9, 2]) await write(size)
    expect(await settled(run)).toEqual([
      expect.stringContaining('never shrinks: ConfigMap default/sized'),
      expect.stringContaining('never shrinks: ConfigMap default/sized'),
    ])
  })

  it('see two clients that undo each other’s writes', async () => {
    await using run = await monitored('hot-loop')
    const configMaps = client.resource(resources.configMaps)
    await configMaps.create(configMap('fought', { owner: 'nobody' }))
    const [left, right] = ['left', 'right'].map((user) =>
      live.as(user, { groups: ['system:masters'], userAgent: user }).resource(resources.configMaps),
    )
    for (let turn = 0; turn < 3; turn += 1) {
      await left?.patch(
        { namespace, name: 'fought' },
        { data: { owner: 'left' } },
        { type: 'merge' },
      )
      await right?.patch(
        { namespace, name: 'fought' },
        { data: { owner: 'right' } },
        { type: 'merge' },
      )
    }
    expect(await settled(run)).toEqual([
      expect.stringMatching(
        /^hot-loop: (left|right) \(\1\) and (left|right) \(\2\) undo each other's writes of data.owner of ConfigMap default\/fought/,
      ),
    ])
  })

  it('see no such fight where the API server counts up and a controller counts down', async () => {
    await using run = await monitored('hot-loop')
    const quotas = client.resource(resources.resourceQuotas)
    const hard = { pods: '9' }
    await quotas.create({ metadata: { namespace, name: 'room' }, spec: { hard } })
    for (let turn = 0; turn < 4; turn += 1) {
      for (const [user, pods] of Object.entries({ 'kube-apiserver': '2', counter: '1' })) {
        await live
          .as(user, { groups: ['system:masters'], userAgent: user })
          .resource(resources.resourceQuotas)
          .patch(
            { namespace, name: 'room' },
            { status: { hard, used: { pods } } },
            { type: 'merge', subresource: 'status' },
          )
      }
    }
    expect(await settled(run)).toEqual([])
  })

  it('see a client that writes an object without end, even if nothing changes', async () => {
    await using run = await monitored('hot-loop')
    const configMaps = client.resource(resources.configMaps)
    await configMaps.create(configMap('written', { a: 'b' }))
    for (let write = 0; write < 245; write += 1)
      await configMaps.patch(
        { namespace, name: 'written' },
        { data: { a: 'b' } },
        { type: 'merge' },
      )
    expect(await settled(run)).toEqual([
      expect.stringContaining('wrote configmaps default/written 241 times within a minute'),
    ])
  })

  it('see an update of a field that another manager applies, and not a forced apply', async () => {
    await using run = await monitored('ownership')
    const configMaps = client.resource(resources.configMaps)
    const ref = { namespace, name: 'applied' }
    const wanted = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      ...configMap('applied', { color: 'red' }),
    }
    await configMaps.patch(ref, wanted, { type: 'apply', fieldManager: 'gitops' })
    const other = { ...wanted, data: { color: 'blue' } }
    await configMaps.patch(ref, other, { type: 'apply', fieldManager: 'admin', force: true })
    expect(await settled(run)).toEqual([])
    await configMaps.patch(
      ref,
      { data: { color: 'green' } },
      { type: 'merge', fieldManager: 'script' },
    )
    expect(await settled(run)).toEqual([
      expect.stringMatching(
        /^ownership: script wrote data.color of ConfigMap default\/applied .*which admin applies, without an apply$/,
      ),
    ])
  })

  it('let the garbage collector unblock an owner that a reference was applied for', async () => {
    await using run = await monitored('ownership')
    const configMaps = client.resource(resources.configMaps)
    const { metadata: owner } = await configMaps.create(configMap('owner', {}))
    const reference = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: 'owner',
      uid: owner.uid ?? '',
      blockOwnerDeletion: true,
    }
    const ref = { namespace, name: 'dependent' }
    const { metadata, ...rest } = configMap('dependent', {})
    const wanted = { ...rest, metadata: { ...metadata, ownerReferences: [reference] } }
    const typed = { apiVersion: 'v1', kind: 'ConfigMap', ...wanted }
    await configMaps.patch(ref, typed, { type: 'apply', fieldManager: 'gitops' })
    const ownerReferences = [{ ...reference, blockOwnerDeletion: false }]
    await configMaps.patch(
      ref,
      { metadata: { ownerReferences } },
      { type: 'merge', fieldManager: 'kube-controller-manager' },
    )
    expect(await settled(run)).toEqual([])
  })

  it('see a status that another client than its controller writes', async () => {
    await using run = await monitored('ownership')
    const deployments = client.resource(resources.deployments)
    await deployments.create(deployment('owned', { replicas: 1 }) as KubeObject)
    await eventually(async () => {
      const { status } = await deployments.get({ namespace, name: 'owned' })
      expect(status?.readyReplicas).toBe(1)
    })
    await deployments.patch(
      { namespace, name: 'owned' },
      { status: { readyReplicas: 0, availableReplicas: 0, replicas: 7 } },
      { type: 'merge', subresource: 'status', fieldManager: 'script' },
    )
    const found = await settled(run)
    expect(found[0]).toMatch(/^ownership: script wrote status\..* of Deployment default\/owned/)
  })
})
