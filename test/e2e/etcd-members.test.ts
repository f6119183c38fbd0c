/** The etcd of a control plane on several machines: each machine that joins brings a member, and takes it away when it leaves. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCluster } from '../../cluster/cluster.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { openMembers } from '../../cluster/etcd/known-members.ts'
import { endProcesses, processesMarked } from '../../cluster/state/process-identity.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { requireEtcd } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'
import { createPlace } from './place.ts'
import type { Place } from './place.ts'
import type { Outcome } from './program.ts'

const namespace = 'default'
const addresses = { first: '127.0.0.41', second: '127.0.0.42', third: '127.0.0.43' }

/** Creates an object; a request whose connection was lost is sent again. */
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

requireEtcd()('members of etcd on several machines', () => {
  let place: Place
  let first: Cluster

  const joinWords = async (address: string, more: readonly string[] = []): Promise<string[]> => {
    const printed = await place
      .cluster('first')
      .skiff('token', 'create', '--control-plane', '-o', 'json')
    const made = JSON.parse(printed) as Record<string, string>
    return [
      ...['--control-plane', made['server'] ?? '', '--token', made['token'] ?? ''],
      ...['--discovery-token-ca-cert-hash', made['caCertHash'] ?? ''],
      ...['--certificate-key', made['certificateKey'] ?? '', '--address', address, ...more],
    ]
  }
  const joinedAs = async (name: string, address: string): Promise<Cluster> =>
    await place.up(name, await joinWords(address))

  /** Names of all members, in order; those without a vote have a mark. */
  const members = async (): Promise<string[]> => {
    const { config, paths } = first
    const opened = await openMembers(
      { config, paths, clock: systemClock },
      { requestTimeoutMs: 60_000 },
    )
    try {
      const all = await opened.list()
      return all.map(({ name, isLearner }) => `${name}${isLearner ? ' (learner)' : ''}`).toSorted()
    } finally {
      opened.close()
    }
  }
  /** State by name, as `skiff status` shows the members. */
  const shown = async (): Promise<Record<string, string>> => {
    const { stdout } = await place.run(['status', '--name', 'first', '-o', 'json'])
    const { etcdMembers } = JSON.parse(stdout) as { etcdMembers: { name: string; state: string }[] }
    return Object.fromEntries(etcdMembers.map(({ name, state }) => [name, state]))
  }
  const linesOf = (name: string, file: string): string[] =>
    readFileSync(join(place.stateRoot, 'clusters', name, file), 'utf8')
      .trim()
      .split('\n')
  const down = (name: string, ...words: string[]): Promise<Outcome> =>
    place.run(['down', '--name', name, ...words])
  /** As a machine that is lost: nothing of it says goodbye. */
  const lose = async (cluster: Cluster): Promise<void> => {
    cluster.disconnect()
    await endProcesses(processesMarked(cluster.config.id), { clock: systemClock, graceMs: 0 })
  }

  beforeAll(async () => {
    place = createPlace()
    first = await place.up('first', [
      ...['--store', 'etcd', '--address', addresses.first, '--nodes', '0'],
    ])
  })
  afterAll(async () => {
    await place?.[Symbol.asyncDispose]()
  })

  test('a cluster goes on for clients of the first machine when its API server and its member are gone', async () => {
    const second = await joinedAs('second', addresses.second)
    const third = await joinedAs('third', addresses.third)
    expect(await members()).toEqual(['etcd-1', 'etcd-127.0.0.42', 'etcd-127.0.0.43'])
    await eventually(() => {
      for (const name of ['first', 'second', 'third']) {
        expect(linesOf(name, 'api-servers.txt')).toHaveLength(3)
        expect(linesOf(name, 'etcd-servers.txt')).toHaveLength(3)
      }
    })
    expect(await shown()).toEqual({
      'etcd-1': 'voter',
      'etcd-127.0.0.42': 'voter',
      'etcd-127.0.0.43': 'voter',
    })
    const lost = ['api-server', 'etcd-1']
    for (const name of lost) await first.control.call('stop-component', { name })
    expect(await shown()).toMatchObject({ 'etcd-1': 'no answer', 'etcd-127.0.0.42': 'voter' })
    for (let at = 0; at < 5; at += 1) await create(first.client, `without-the-first-${at}`)
    await create(third.client, 'over-the-third')

    // The API server of the first machine finds the members of others, though it began with its own alone.
    await first.control.call('start-component', { name: 'api-server' })
    for (const cluster of [second, third])
      await cluster.control.call('stop-component', { name: 'api-server' })
    await create(first.client, 'over-members-of-others')
    for (const cluster of [second, third])
      await cluster.control.call('start-component', { name: 'api-server' })
    await first.control.call('start-component', { name: 'etcd-1' })
    second.disconnect()
    third.disconnect()
  })

  test('a machine that joins where one runs is rejected, and one that was lost gets its place again', async () => {
    const taken = await place.run(['up', '--name', 'twin', ...(await joinWords(addresses.third))])
    expect(taken.stderr).toContain('error: etcd has a member at 127.0.0.43: etcd-127.0.0.43 runs\n')
    expect(taken.code).not.toBe(0)
    // One that is stopped keeps its place.
    expect((await down('third', '--keep-data')).code).toBe(0)
    expect(await members()).toHaveLength(3)
    const third = await place.up('third')
    await create(third.client, 'over-the-third-again')
    await lose(third)
    expect(await members()).toHaveLength(3)
    const again = await joinedAs('third-again', addresses.third)
    expect(await members()).toEqual(['etcd-1', 'etcd-127.0.0.42', 'etcd-127.0.0.43'])
    await create(again.client, 'over-the-new-third')
    again.disconnect()
  })

  test('a machine leaves no member behind, and does not leave when the others would have no majority', async () => {
    const lost = await openCluster({ name: 'third-again', stateRoot: place.stateRoot })
    await lose(lost)
    const refused = await down('second')
    expect(refused.stderr).toContain('error: etcd-127.0.0.42 cannot leave etcd: ')
    expect(refused.stderr).toContain('skiff member remove')
    expect(refused.code).not.toBe(0)
    expect(await members()).toHaveLength(3)

    await place.cluster('first').skiff('member', 'remove', 'etcd-127.0.0.43')
    expect(await members()).toEqual(['etcd-1', 'etcd-127.0.0.42'])
    expect((await down('second')).code).toBe(0)
    expect(await members()).toEqual(['etcd-1'])
    await create(first.client, 'alone')
    await eventually(() => expect(linesOf('first', 'etcd-servers.txt')).toHaveLength(1))
  })

  test('a machine joins without a member', async () => {
    const words = await joinWords(addresses.second, ['--etcd-members', '0'])
    const second = await place.up('plain', words)
    expect(await members()).toEqual(['etcd-1'])
    await create(second.client, 'over-one-member')
    second.disconnect()
    expect((await down('plain')).code).toBe(0)
    const three = await place.run(['up', '--name', 'three', ...words.slice(0, -1), '3'])
    expect(three.stderr).toContain('invalid --etcd-members 3 with --control-plane')
  })

  test('the backup of a machine that joined is restored as a cluster of its own, beside the others', async () => {
    const second = await joinedAs('second', addresses.second)
    await create(second.client, 'backed-up')
    const file = join(place.root, 'second.backup')
    await place.cluster('second').skiff('backup', file)
    second.disconnect()
    expect((await down('second')).code).toBe(0)
    expect((await place.run(['restore', '--name', 'restored', file])).stderr).not.toContain('error')
    const restored = await place.up('restored')
    const configMaps = restored.client.resource(resourcesOf(restored.client.dialect).configMaps)
    await configMaps.get({ namespace, name: 'backed-up' })
    await create(restored.client, 'of-the-restored')
    const here = first.client.resource(resourcesOf(first.client.dialect).configMaps)
    await expect(here.get({ namespace, name: 'of-the-restored' })).rejects.toThrow('not found')
    expect(await members()).toEqual(['etcd-1'])
    restored.disconnect()
    expect((await down('restored')).code).toBe(0)
  })
})
