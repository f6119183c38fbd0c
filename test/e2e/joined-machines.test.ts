/** Load balancers of a control plane on several machines: each knows the API servers of all, whenever they join or leave. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Cluster } from '../../cluster/cluster.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { requireEtcd, startEtcd } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { endProcesses, processesMarked } from '../../cluster/state/process-identity.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { createPlace } from './place.ts'
import type { Place } from './place.ts'

const namespace = 'default'

/** Creates an object over any server that is left; a request whose connection was lost is sent again. */
async function create({ dialect, resource }: Client, name: string): Promise<void> {
  const configMaps = resource(resourcesOf(dialect).configMaps)
  await eventually(async () => {
    try {
      await configMaps.create({ metadata: { name, namespace } })
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw error
    }
  })
}

requireEtcd()('machines that join a control plane', () => {
  let place: Place
  let first: Cluster
  const ownServers = ({ config }: Cluster): string[] =>
    (config.apiServers ?? []).map(({ address, port }) => `${address}:${port}`)
  /** What the load balancer of a machine has been told. */
  const known = (name: string): string[] =>
    readFileSync(join(place.stateRoot, 'clusters', name, 'api-servers.txt'), 'utf8')
      .trim()
      .split('\n')
      .toSorted()

  /** The flags of a machine that joins the cluster of that name. */
  const joinWords = async (name: string, address: string): Promise<string[]> => {
    const printed = await place
      .cluster(name)
      .skiff('token', 'create', '--control-plane', '-o', 'json')
    const made = JSON.parse(printed) as Record<string, string>
    return [
      ...['--control-plane', made['server'] ?? '', '--token', made['token'] ?? ''],
      ...['--discovery-token-ca-cert-hash', made['caCertHash'] ?? ''],
      ...['--certificate-key', made['certificateKey'] ?? '', '--address', address],
    ]
  }

  // Of two members, none may be lost.
  const joinedAs = async (name: string, address: string): Promise<Cluster> =>
    await place.up(name, [...(await joinWords('first', address)), '--etcd-members', '0'])

  beforeAll(async () => {
    place = createPlace()
    first = await place.up('first', [
      ...['--store', 'etcd', '--etcd-members', '1', '--api-servers', '2', '--nodes', '0'],
    ])
  })
  afterAll(async () => {
    await place?.[Symbol.asyncDispose]()
  })

  test('are known to the load balancers of all machines, until they leave or are gone for good', async () => {
    expect(known('first')).toEqual(ownServers(first).toSorted())
    const second = await joinedAs('second', '127.0.0.31')
    const third = await joinedAs('third', '127.0.0.32')
    const all = [first, second, third].flatMap(ownServers).toSorted()
    await eventually(() => {
      for (const name of ['first', 'second', 'third']) expect(known(name)).toEqual(all)
    })

    // The first machine's clients go on without a server of their own, and so do those of the second.
    const stopped = [
      [first, ['api-server-1', 'api-server-2']],
      [second, ['api-server']],
    ] as const
    for (const [cluster, names] of stopped) {
      for (const name of names) await cluster.control.call('stop-component', { name })
    }
    await create(first.client, 'over-the-third')
    await create(second.client, 'over-the-third-too')
    for (const [cluster, names] of stopped) {
      for (const name of names) await cluster.control.call('start-component', { name })
    }

    third.disconnect()
    expect((await place.run(['down', '--name', 'third'])).code).toBe(0)
    const left = [first, second].flatMap(ownServers).toSorted()
    await eventually(() => {
      for (const name of ['first', 'second']) expect(known(name)).toEqual(left)
    })
    // As a machine that is lost: nothing of it says goodbye.
    second.disconnect()
    await endProcesses(processesMarked(second.config.id), { clock: systemClock, graceMs: 0 })
    await eventually(() => expect(known('first')).toEqual(ownServers(first).toSorted()))
    await create(first.client, 'alone')
  })

  test('add no member to an etcd that the cluster does not manage, and say who does', async () => {
    const etcd = await startEtcd()
    const outside = await place.up('outside', ['--etcd-servers', etcd.url, '--nodes', '0'])
    const words = await joinWords('outside', '127.0.0.33')
    const rejected = await place.run(['up', '--name', 'beside', ...words, '--etcd-members', '1'])
    expect(rejected.code).toBe(2)
    expect(rejected.stderr).toContain(
      'error: the cluster uses an etcd whose members it does not manage\nhint: omit --etcd-members',
    )
    expect((await place.run(['status', '--name', 'beside'])).code).toBe(3)
    outside.disconnect()
    expect((await place.run(['down', '--name', 'outside'])).code).toBe(0)
    await etcd.kill()
  })
})
