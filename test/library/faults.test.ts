import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Lease, Node } from '../../components/api/generated/types.ts'
import { startCluster } from '../../library/start-cluster.ts'
import type { Cluster } from '../../library/types.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ nodes: 2 })
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
})

const configMap = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
})

describe('faults of an embedded cluster', () => {
  it('refuse requests as often as they may, which clients see and the counter shows', async () => {
    const { name } = await cluster.faults.add({
      kind: 'requests',
      times: 2,
      fault: {
        match: { verbs: ['create'], resources: ['configmaps'] },
        action: { status: { code: 503 } },
      },
    })
    for (const _ of [1, 2]) {
      const created = cluster.admin.create(configMap('a'))
      await expect(created).rejects.toMatchObject({ code: 503 })
    }
    await cluster.admin.create(configMap('a'))
    const status = (await cluster.faults.list()).find((one) => one.name === name)
    expect(status).toMatchObject({ fired: 2, ended: 'times' })
  })

  it('cut a node off one way: it becomes Unknown, and Ready again when the fault is over', async () => {
    await cluster.faults.add({
      name: 'one-way',
      kind: 'network',
      forMs: 120_000,
      fault: { from: 'node-1', to: 'api-server', direction: 'one-way', action: 'cut' },
    })
    await cluster.clock.advance('100s')
    await cluster.expect({
      kind: 'Node',
      name: 'node-1',
      where: "status.conditions[type=Ready].status == 'Unknown'",
    })
    await cluster.clock.advance('60s')
    await cluster.expect({
      kind: 'Node',
      name: 'node-1',
      where: "status.conditions[type=Ready].status == 'True'",
      within: '2m',
    })
    const status = (await cluster.faults.list()).find(({ name }) => name === 'one-way')
    expect(status?.ended).toBe('time')
    expect(status?.fired).toBeGreaterThan(0)
  })

  it('reboot a machine once: its agent that is killed later shows no boot but the last', async () => {
    const node = await cluster.admin.get<Node>({ kind: 'Node', name: 'node-2' })
    const before = node.status?.nodeInfo?.bootID
    const stop = new AbortController()
    const seen: string[] = []
    const watching = (async () => {
      const nodes = cluster.admin.watch<Node>({ kind: 'Node' }, { signal: stop.signal })
      for await (const { object } of nodes)
        if (object.metadata?.name === 'node-2') seen.push(object.status?.nodeInfo?.bootID ?? '')
    })()
    await cluster.faults.add({ kind: 'node', fault: { node: 'node-2', is: 'rebooted' } })
    await cluster.clock.advance('20s')
    await cluster.faults.add({ kind: 'process', fault: { part: 'node-2', action: 'kill' } })
    await cluster.clock.advance('20s')
    stop.abort()
    await watching
    const since = seen.slice(seen.findIndex((boot) => boot !== before))
    expect(since).not.toContain(before)
    expect(new Set(since).size).toBe(1)
  })

  it.each(['memory-pressure', 'disk-pressure', 'pid-pressure'] as const)(
    'put a node under %s, which taints it',
    async (is) => {
      const fault = { node: 'node-2', is }
      const { name, fired } = await cluster.faults.add({ kind: 'node', fault })
      expect(fired).toBe(1)
      const taint = [{ key: `node.kubernetes.io/${is}`, effect: 'NoSchedule' }]
      await cluster.expect({ kind: 'Node', name: 'node-2', match: { spec: { taints: taint } } })
      await cluster.faults.heal(name)
      await cluster.expect({ kind: 'Node', name: 'node-2', match: { spec: { taints: null } } })
    },
  )

  it('take the disk of a node, which is not Ready without', async () => {
    const fault = { node: 'node-2', is: 'disk-lost' } as const
    const { name, fired } = await cluster.faults.add({ kind: 'node', fault })
    expect(fired).toBe(1)
    const ready = (status: string) =>
      cluster.expect({
        kind: 'Node',
        name: 'node-2',
        where: `status.conditions[type=Ready].status == '${status}'`,
        within: '2m',
      })
    await ready('False')
    await cluster.faults.heal(name)
    await ready('True')
  })

  it('freeze and starve a node, whose heartbeats come late or not at all', async () => {
    const renewed = async (): Promise<number> => {
      const lease = await cluster.admin.get<Lease>({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        name: 'node-1',
        namespace: 'kube-node-lease',
      })
      return Date.parse(lease.spec?.renewTime ?? '')
    }
    const freeze = { kind: 'process', fault: { part: 'node-1', action: 'freeze' } } as const
    const frozen = await cluster.faults.add(freeze)
    const before = await renewed()
    await cluster.clock.advance('30s')
    expect(await renewed()).toBe(before)
    expect(frozen.fired).toBe(1)
    await cluster.faults.heal(frozen.name)
    const starve = { kind: 'process', fault: { part: 'node-1', action: 'starve' } } as const
    const { name } = await cluster.faults.add(starve)
    await cluster.clock.advance('30s')
    // A tenth of its time is enough to send some.
    expect(await renewed()).toBeGreaterThan(before)
    const [healed] = await cluster.faults.heal(name)
    expect(healed?.fired).toBeGreaterThanOrEqual(30)
  })

  it('that need processes are refused, with what to do', async () => {
    const expired = { kind: 'certificate', fault: { part: 'scheduler', is: 'expired' } } as const
    await expect(cluster.faults.add(expired)).rejects.toThrow('no connections with TLS')
    const lossy = { from: 'node-1', to: 'api-server', action: { loss: 0.5 } }
    await expect(cluster.faults.add({ kind: 'network', fault: lossy })).rejects.toThrow(
      'sends no packets',
    )
  })

  it('take the lease of a leader, which starts again and leads when the fault is over', async () => {
    await using led = await startCluster({
      nodes: 0,
      flags: { 'controller-manager': { 'leader-elect': 'true' } },
    })
    const lease = async () =>
      await led.admin.get<Lease>({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        name: 'kube-controller-manager',
        namespace: 'kube-system',
      })
    await led.clock.advance('5s')
    const before = (await lease()).spec?.holderIdentity
    const { name } = await led.faults.add({
      kind: 'process',
      fault: { part: 'controller-manager', action: 'lose-lease' },
    })
    await led.clock.advance('1m')
    expect((await lease()).spec?.holderIdentity).toBe('fault-of-the-lab')
    await led.faults.heal(name)
    await led.clock.advance('1m')
    const after = (await lease()).spec?.holderIdentity
    expect(after).not.toBe('fault-of-the-lab')
    expect(after).not.toBe(before)
    await led.admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'after' } })
    await led.expect({ kind: 'ServiceAccount', name: 'default', namespace: 'after' })
  })

  it('with a wrong field are refused before anything is sent', async () => {
    const wrong = { kind: 'process', fault: { part: 'node-1', action: 'explode' } } as const
    await expect(cluster.faults.add(wrong)).rejects.toThrow(
      'faults.add: fault.action must be one of kill, freeze, starve, lose-lease, not "explode"',
    )
  })
})
