/** Faults in a cluster of processes: each fires, by its counter and by what a client sees, and nothing of it is left. */
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Cluster } from '../../cluster/cluster.ts'
import { defaultMix } from '../../cluster/lab/chaos/default-mix.ts'
import type { FaultSpec, FaultStatus } from '../../cluster/lab/fault-spec.ts'
import { processesMarked } from '../../cluster/state/process-identity.ts'
import type { Lease, Node, Pod } from '../../components/api/generated/types.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { eventually } from '../support/eventually.ts'
import { createPlace } from './place.ts'
import type { Place } from './place.ts'

let place: Place
let cluster: Cluster

const namespace = 'default'

beforeAll(async () => {
  // Faults make components ask what they may not: one with a wrong certificate is refused.
  place = createPlace({ isJudged: false })
  cluster = await place.up('broken', [
    ...['--nodes', '2'],
    ...['--set', 'controller-manager.node-monitor-grace-period=4s'],
    ...['--set', 'controller-manager.node-monitor-period=500ms'],
    ...['--set', 'node-agent.node-lease-duration-seconds=4'],
  ])
})
afterAll(async () => {
  await place[Symbol.asyncDispose]()
})

async function statusOf(name: string): Promise<FaultStatus> {
  const found = (await cluster.lab.faults.list()).find((one) => one.name === name)
  if (found === undefined) throw new Error(`no fault ${name}`)
  return found
}

async function newest(): Promise<FaultStatus> {
  return (await cluster.lab.faults.list()).at(-1) as FaultStatus
}

/** Adds the fault, and heals it when `work` has ended; gives how often it fired. */
async function broken(fault: FaultSpec, work: () => Promise<void>): Promise<number> {
  const { name } = await cluster.lab.faults.add(fault)
  try {
    await work()
  } finally {
    const { ended } = await statusOf(name)
    if (ended === undefined) await cluster.lab.faults.heal(name)
  }
  return (await statusOf(name)).fired
}

function resources() {
  return resourcesOf(cluster.client.dialect)
}

async function nodeNamed(name: string): Promise<Node> {
  return await cluster.client.resource<Node>(resources().nodes).get({ name })
}

async function readyOf(name: string): Promise<string | undefined> {
  const { status } = await nodeNamed(name)
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status
}

async function untilReady(name: string, status: string): Promise<void> {
  await eventually(async () => expect(await readyOf(name)).toBe(status), 60_000)
}

async function pidOf(name: string): Promise<number | undefined> {
  const { components } = await cluster.control.call('status', {})
  return components.find((one) => one.name === name)?.pid
}

async function holderOf(name: string): Promise<string | undefined> {
  const leases = cluster.client.resource<Lease>(resources().leases)
  return (await leases.get({ namespace: 'kube-system', name })).spec?.holderIdentity ?? undefined
}

/** What a client that trusts the cluster's authority says of the API server's certificate; undefined: nothing. */
async function failureOfHandshake(): Promise<string | undefined> {
  const { address: host, port } = cluster.config
  const ca = readFileSync(join(place.stateRoot, 'clusters/broken/pki/ca.crt'))
  const socket = connect({ host, port, ca })
  try {
    await once(socket, 'secureConnect')
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  } finally {
    socket.destroy()
  }
}

describe('faults', () => {
  it('of requests are obeyed by the API server, also after its restart', async () => {
    const configMaps = cluster.client.resource(resources().configMaps)
    const create = () => configMaps.create({ metadata: { name: 'a', namespace } })
    const refused: FaultSpec = {
      kind: 'requests',
      times: 2,
      fault: {
        match: { verbs: ['create'], resources: ['configmaps'] },
        action: { status: { code: 500 } },
      },
    }
    const fired = await broken(refused, async () => {
      await expect(create()).rejects.toMatchObject({ code: 500 })
      // A server that is killed takes with it what was not read of its counts.
      expect((await newest()).fired).toBe(1)
      await cluster.control.call('restart', { name: 'api-server' })
      await eventually(
        async () => await expect(create()).rejects.toMatchObject({ code: 500 }),
        30_000,
      )
      await create()
    })
    expect(fired).toBe(2)
  })

  it('of the network cut a node off one way: it becomes Unknown, and comes back', async () => {
    await untilReady('node-1', 'True')
    const pid = await pidOf('node-1')
    const fired = await broken(
      {
        kind: 'network',
        fault: { from: 'node-1', to: 'api-server', direction: 'one-way', action: 'cut' },
      },
      async () => {
        // A busy machine may make any node late; only one stays away.
        await eventually(async () => {
          expect((await newest()).fired).toBeGreaterThan(0)
          expect([await readyOf('node-1'), await readyOf('node-2')]).toEqual(['Unknown', 'True'])
        }, 60_000)
      },
    )
    expect(fired).toBeGreaterThan(0)
    await untilReady('node-1', 'True')
    // Its process went on all the time.
    expect(await pidOf('node-1')).toBe(pid)
  })

  it.each([
    ['cut', 'cut'],
    ['half-open', 'half-open'],
    ['late', { delayMs: 10, jitterMs: 5 }],
    ['lost', { loss: 0.2 }],
    ['slow', { bytesPerSecond: 100_000 }],
  ] as const)('of the network count connections that are %s', async (_, action) => {
    const fault = { from: 'api-server', to: 'node-2', action } as const
    const fired = await broken({ kind: 'network', fault }, async () => {
      await eventually(async () => expect((await newest()).fired).toBeGreaterThan(0), 30_000)
    })
    expect(fired).toBeGreaterThan(0)
    await untilReady('node-2', 'True')
  })

  it('of the network also reach calls of the API server to a node', async () => {
    const pods = cluster.client.resource<Pod>(resources().pods)
    const spec = { nodeName: 'node-2', containers: [{ name: 'a', image: 'a' }] }
    await pods.create({ metadata: { name: 'logged', namespace }, spec })
    await eventually(
      async () =>
        expect((await pods.get({ name: 'logged', namespace })).status?.phase).toBe('Running'),
      30_000,
    )
    const log = () =>
      cluster.client.rest.bytes({
        method: 'GET',
        path: `/api/v1/namespaces/${namespace}/pods/logged/log`,
      })
    await log()
    await broken(
      { kind: 'network', fault: { from: 'api-server', to: 'node-2', action: 'cut' } },
      async () => await expect(log()).rejects.toMatchObject({ code: 500 }),
    )
    await eventually(async () => void (await log()), 30_000)
  })

  it('of processes freeze and kill them', async () => {
    const pid = await pidOf('scheduler')
    await broken({ kind: 'process', fault: { part: 'scheduler', action: 'freeze' } }, async () => {
      const { components } = await cluster.control.call('status', {})
      expect(components.find(({ name }) => name === 'scheduler')?.state).toBe('paused')
    })
    expect(await pidOf('scheduler')).toBe(pid)
    const kill: FaultSpec = { kind: 'process', fault: { part: 'scheduler', action: 'kill' } }
    expect(await cluster.lab.faults.add(kill)).toMatchObject({ fired: 1, ended: 'times' })
    await eventually(async () => {
      const next = await pidOf('scheduler')
      expect(next).toBeDefined()
      expect(next).not.toBe(pid)
    }, 30_000)
  })

  it('of processes take the lease of a leader, which ends and waits', async () => {
    const name = 'kube-controller-manager'
    const pid = await pidOf('controller-manager')
    const fired = await broken(
      { kind: 'process', fault: { part: 'controller-manager', action: 'lose-lease' } },
      async () => {
        expect(await holderOf(name)).toBe('fault-of-the-lab')
        await eventually(
          async () => expect(await pidOf('controller-manager')).not.toBe(pid),
          30_000,
        )
      },
    )
    expect(fired).toBeGreaterThan(0)
    await eventually(async () => expect(await holderOf(name)).not.toBe('fault-of-the-lab'), 60_000)
  })

  it('of certificates keep a node out until they are healed', async () => {
    await untilReady('node-1', 'True')
    const fired = await broken(
      { kind: 'certificate', fault: { part: 'node-1', is: 'of-another-authority' } },
      async () => await untilReady('node-1', 'Unknown'),
    )
    expect(fired).toBeGreaterThan(0)
    await untilReady('node-1', 'True')
  })

  it.each([
    ['expired', 'CERT_HAS_EXPIRED'],
    ['not-yet-valid', 'CERT_NOT_YET_VALID'],
  ] as const)(
    'of a certificate that is %s make every client turn away from the API server',
    async (is, code) => {
      await eventually(async () => expect(await failureOfHandshake()).toBeUndefined(), 30_000)
      const fired = await broken(
        { kind: 'certificate', fault: { part: 'api-server', is } },
        async () =>
          await eventually(async () => expect(await failureOfHandshake()).toBe(code), 30_000),
      )
      expect(fired).toBeGreaterThan(0)
      await eventually(async () => expect(await failureOfHandshake()).toBeUndefined(), 30_000)
      await eventually(async () => void (await nodeNamed('node-1')), 30_000)
    },
  )

  it('of clocks show in what the part writes', async () => {
    const leases = cluster.client.resource<Lease>(resources().leases)
    const aheadMs = 3_600_000
    await broken({ kind: 'clock', fault: { part: 'node-2', aheadMs } }, async () => {
      await eventually(async () => {
        const { spec } = await leases.get({ namespace: 'kube-node-lease', name: 'node-2' })
        const { nowMs } = await cluster.lab.time.state()
        expect(Date.parse(spec?.renewTime ?? '')).toBeGreaterThan(nowMs + aheadMs / 2)
      }, 30_000)
    })
  })

  it('of nodes show in their conditions, and a reboot in the boot id and the containers', async () => {
    await broken({ kind: 'node', fault: { node: 'node-2', is: 'runtime-down' } }, async () => {
      await untilReady('node-2', 'False')
    })
    await untilReady('node-2', 'True')
    const before = (await nodeNamed('node-2')).status?.nodeInfo?.bootID
    await cluster.lab.faults.add({ kind: 'node', fault: { node: 'node-2', is: 'rebooted' } })
    await eventually(async () => {
      const { status } = await nodeNamed('node-2')
      expect(status?.nodeInfo?.bootID).not.toBe(before)
      const pods = cluster.client.resource<Pod>(resources().pods)
      const { status: pod } = await pods.get({ name: 'logged', namespace })
      expect(pod?.containerStatuses?.[0]?.restartCount).toBeGreaterThan(0)
    }, 60_000)
  })

  it('between parts that never talk, or of parts that are not there, are refused', async () => {
    const { skiff } = place.cluster('broken')
    await expect(
      skiff('fault', 'add', 'network', '--from', 'scheduler', '--to', 'node-1', '--cut', 'both'),
    ).rejects.toThrow('scheduler and node-1 do not talk to each other')
    await expect(
      skiff('fault', 'add', 'process', '--part', 'schedular', '--action', 'kill'),
    ).rejects.toThrow('did you mean scheduler?')
  })

  it('of a chaos are drawn by its seed, counted, and named when they never fired', async () => {
    const { skiff } = place.cluster('broken')
    const mix = join(place.root, 'mix.yaml')
    writeFileSync(
      mix,
      `every: 100ms
faults:
  - fault: { kind: requests, fault: { match: { users: ['*'] }, action: { delayMs: 1 } } }
    for: [500ms, 1s]
  - fault: { kind: requests, fault: { match: { users: [nobody] }, action: { status: { code: 503 } } } }
    for: [10ms, 20ms]
`,
    )
    let isOver = false
    const chaos = skiff('fault', 'chaos', '--seed', '7', '--for', '3s', '--mix', mix).finally(
      () => {
        isOver = true
      },
    )
    while (!isOver) await nodeNamed('node-1')
    const told = await chaos
    expect(told).toContain('seed 7')
    expect(told).toMatch(/1ms late +[1-9]\d* +[1-9]/)
    expect(told).toMatch(/nobody: 503: never fired: nothing matched/)
    expect((await cluster.lab.faults.list()).filter(({ ended }) => ended === undefined)).toEqual([])

    await cluster.lab.chaos.begin({ seed: 8, forMs: 3_600_000 })
    await expect(skiff('fault', 'chaos', '--for', '1s')).rejects.toThrow(
      'a chaos is under way: seed 8',
    )
    expect(await cluster.lab.chaos.stop()).toMatchObject({ seed: 8, isOver: true })
    writeFileSync(mix, 'every: 1s\nfaults: [{ fault: { kind: bad } }]')
    await expect(skiff('fault', 'chaos', '--mix', mix)).rejects.toThrow(
      'faults[0].fault.kind: must be one of requests, store',
    )
  })

  it('of the default mix lose no acknowledged write, and the cluster is whole again after them', async () => {
    const { client, lab } = cluster
    const configMaps = client.resource(resources().configMaps)
    const nodes = client.resource<Node>(resources().nodes)
    const uids = async () => (await nodes.list()).items.map(({ metadata }) => metadata.uid)
    const before = await uids()
    const mix = { ...defaultMix('processes'), everyMs: 1000 }
    const begun = await lab.chaos.begin({ seed: 11, forMs: 15_000, mix })
    let isOver = false
    const over = lab.chaos.over().finally(() => (isOver = true))
    const written: string[] = []
    for (let number = 0; !isOver; number += 1) {
      const name = `chaos-${number}`
      const writing = configMaps.create({ metadata: { name, namespace } })
      await Promise.race([
        writing.then(() => void written.push(name)).catch(() => {}), // a fault keeps it from its answer
        over,
      ])
    }
    const report = await over
    const why = `seed ${begun.seed}: ${JSON.stringify(report)}`
    expect(report.faults.filter((one) => one.begun > 0).length, why).toBeGreaterThan(5)
    expect(report.refused, why).toEqual([])
    expect(written.length, why).toBeGreaterThan(0)
    const left = (await lab.faults.list()).filter(({ ended }) => ended === undefined)
    expect(left, why).toEqual([])
    await eventually(async () => expect(await uids()).toEqual(before), 60_000)
    const kept = await configMaps.list({ namespace })
    expect(kept.items.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(written))
    for (const name of ['node-1', 'node-2']) await untilReady(name, 'True')
    await eventually(async () => {
      const { components } = await cluster.control.call('status', {})
      expect(components.map(({ name, state }) => `${name} ${state}`)).toEqual(
        components.map(({ name }) => `${name} ready`),
      )
    }, 60_000)
  })

  it('leave nothing behind when the cluster goes down', async () => {
    const { config, paths } = cluster
    const add = (fault: FaultSpec) => cluster.lab.faults.add(fault)
    await add({ kind: 'process', fault: { part: 'node-1', action: 'freeze' } })
    await add({ kind: 'process', fault: { part: 'scheduler', action: 'starve' } })
    await add({
      kind: 'network',
      fault: { from: 'controller-manager', to: 'api-server', action: 'half-open' },
    })
    await place.cluster('broken').skiff('down')
    expect(processesMarked(config.id)).toEqual([])
    expect(existsSync(paths.dir)).toBe(false)
  })
})
