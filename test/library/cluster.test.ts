import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { afterEach, describe, expect, it } from 'vitest'
import { ExpectationError, startCluster } from '../../library/index.ts'
import type { Cluster, KubernetesObject, StartClusterOptions } from '../../library/index.ts'

const clusters: Cluster[] = []
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.stop()
})

async function start(options: StartClusterOptions = {}): Promise<Cluster> {
  const cluster = await startCluster(options)
  clusters.push(cluster)
  return cluster
}

const web: KubernetesObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'nginx' }] },
    },
  },
}
const available = {
  kind: 'Deployment',
  name: 'web',
  where: 'status.availableReplicas == 3',
  within: '60s',
} as const

describe.each(['embedded', 'processes'] as const)('a cluster as a value, %s', (form) => {
  it('runs what is applied, on its nodes, and shows it to its users', async () => {
    const cluster = await start({ form, nodes: 2, objects: [web] })
    expect(cluster.form).toBe(form)
    const [deployment] = await cluster.expect(available)
    expect(deployment?.['status'].readyReplicas).toBe(3)
    expect(cluster.nodes.map(({ name }) => name)).toEqual(['node-1', 'node-2'])
    const jane = cluster.client({ user: 'jane', groups: ['developers'] })
    await expect(jane.list({ kind: 'Pod' })).rejects.toMatchObject({ reason: 'Forbidden' })
    const pods = await cluster.admin.list({ kind: 'Pod' })
    expect(pods).toHaveLength(3)
    expect(cluster.kubeconfig({ user: 'jane' })).toContain(`server: ${cluster.server}`)
    expect(await cluster.logs('scheduler')).not.toEqual([])
    if (form === 'embedded') return
    await expect(cluster.simulate({ story: async () => {} })).rejects.toThrow(
      'only embedded clusters can do this: start the cluster without form: processes',
    )
  })

  it('stops a node and starts it again; adds one with labels and taints, and removes it', async () => {
    const cluster = await start({ form })
    await cluster.node('node-1').stop()
    await cluster.node('node-1').start()
    const node = await cluster.addNode({
      name: 'gpu',
      labels: { kind: 'gpu' },
      taints: ['gpu=yes:NoSchedule'],
      capacity: { cpu: '3' },
    })
    const [object] = await cluster.expect({
      kind: 'Node',
      name: 'gpu',
      where: ['status.conditions[type=Ready].status == True', 'status.capacity.cpu == 3'],
    })
    expect(object?.metadata?.labels).toMatchObject({ kind: 'gpu' })
    expect(cluster.nodes.map(({ name }) => name)).toEqual(['node-1', 'gpu'])
    await node.remove()
    await cluster.expect({ kind: 'Node', name: 'gpu', absent: true })
    expect(cluster.nodes.map(({ name }) => name)).toEqual(['node-1'])
    expect(() => cluster.node('gpu')).toThrow('the cluster has no node gpu: it has node-1')
    await expect(cluster.addNode({ name: 'node-1' })).rejects.toThrow('has a node node-1 already')
  })

  it('tells what is there when an expectation does not come true', async () => {
    const cluster = await start({ form, nodes: 0, objects: [web] })
    const waiting = cluster.expect({ ...available, within: '300ms' })
    await expect(waiting).rejects.toBeInstanceOf(ExpectationError)
    await expect(waiting).rejects.toThrow('status.availableReplicas == 3')
  })
})

describe('an embedded cluster as a value', () => {
  it('advances its clock', async () => {
    const cluster = await start()
    const before = cluster.clock.now().getTime()
    await cluster.node('node-1').stop()
    await cluster.clock.advance('6m')
    expect(cluster.clock.now().getTime() - before).toBeGreaterThanOrEqual(360_000)
    await cluster.expect({
      kind: 'Node',
      name: 'node-1',
      where: 'status.conditions[type=Ready].status == Unknown',
    })
  })

  it('starts when it is told to have been started', async () => {
    const startAt = new Date(Date.now() - 3 * 24 * 3_600_000)
    const cluster = await start({ startAt })
    const { metadata } = await cluster.admin.get({ kind: 'Namespace', name: 'default' })
    const created = Date.parse(metadata?.['creationTimestamp'])
    expect(Math.abs(created - startAt.getTime())).toBeLessThan(60_000)
  })

  it('goes back to a snapshot, and to its start', async () => {
    const cluster = await start()
    const one = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } }
    await cluster.admin.create(one)
    using snapshot = await cluster.snapshot()
    await cluster.admin.delete({ kind: 'ConfigMap', name: 'one' })
    await cluster.restore(snapshot)
    await cluster.expect({ kind: 'ConfigMap', name: 'one' })
    await cluster.reset()
    await cluster.expect({ kind: 'ConfigMap', name: 'one', absent: true })
  })

  it('goes back to its start with the objects that it was started with', async () => {
    const given = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'given' } }
    const cluster = await start({ nodes: 0, objects: [given] })
    const { metadata: before } = await cluster.admin.get({ kind: 'ConfigMap', name: 'given' })
    for (const name of ['first', 'second']) {
      await cluster.admin.delete({ kind: 'ConfigMap', name: 'given' })
      await cluster.admin.create({ ...given, metadata: { name } })
      await cluster.reset()
      const { metadata } = await cluster.admin.get({ kind: 'ConfigMap', name: 'given' })
      expect(metadata).toEqual(before)
      await cluster.expect({ kind: 'ConfigMap', name, absent: true })
    }
  })

  it('goes back under a watch, which tells what is gone and goes on', async () => {
    const cluster = await start({ nodes: 0 })
    const map = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })
    await cluster.admin.create(map('before'))
    const seen: string[] = []
    const stop = new AbortController()
    const watching = (async () => {
      const events = cluster.admin.watch({ kind: 'ConfigMap' }, { signal: stop.signal })
      for await (const { type, object } of events) seen.push(`${type} ${object.metadata?.name}`)
    })()
    await expect.poll(() => seen).toContain('ADDED before')
    await cluster.reset()
    await expect.poll(() => seen).toContain('DELETED before')
    await cluster.admin.create(map('after'))
    await expect.poll(() => seen).toContain('ADDED after')
    stop.abort()
    await watching
  })

  it('has forks, and an informer on it misses nothing meanwhile', async () => {
    const cluster = await start({ nodes: 0 })
    const seen: string[] = []
    const stop = new AbortController()
    const watching = (async () => {
      const events = cluster.admin.watch({ kind: 'ConfigMap', namespace: 'default' }, stop)
      for await (const { type, object } of events) seen.push(`${type} ${object.metadata?.name}`)
    })()
    for (let at = 0; at < 5; at += 1) {
      const name = `map-${at}`
      const fork = await cluster.fork()
      clusters.push(fork)
      await fork.admin.create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `fork-${at}` },
      })
      await cluster.admin.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })
      const names = (await fork.admin.list({ kind: 'ConfigMap' })).map((one) => one.metadata?.name)
      expect(names).toContain(`fork-${at}`)
      expect(names).not.toContain(name)
    }
    await expect.poll(() => seen.filter((one) => one.includes('map-'))).toHaveLength(5)
    expect(seen.filter((one) => one.includes('fork-'))).toEqual([])
    stop.abort()
    await watching
  })

  it('calls a webhook of the test, whose errors fail the end of the cluster', async () => {
    const cluster = await startCluster({ nodes: 0 })
    const rules = [
      { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] },
    ] as const
    await using _ = await cluster.webhook(
      { name: 'guard.example.com', kind: 'validating', rules },
      ({ object }) => ({ allowed: object?.metadata?.name !== 'bad', message: 'no bad maps' }),
    )
    const map = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })
    await cluster.admin.create(map('good'))
    await expect(cluster.admin.create(map('bad'))).rejects.toThrow('no bad maps')
    await cluster.webhook(
      { name: 'broken.example.com', kind: 'mutating', failurePolicy: 'Ignore', rules },
      () => {
        throw new Error('broken on purpose')
      },
    )
    await cluster.admin.create(map('still-good'))
    await expect(cluster.stop()).rejects.toThrow('broken on purpose')
  })

  it('refuses what it is not: wrong options, manifests that cannot be read, use after its end', async () => {
    await expect(startCluster({ nodes: 'two' as never })).rejects.toThrow('nodes must be')
    await expect(startCluster({ manifests: ['no-such-folder'] })).rejects.toThrow('no-such-folder')
    await expect(
      startCluster({ flags: { 'api-server': { 'no-such-flag': '1' } } }),
    ).rejects.toThrow('unknown flag --no-such-flag')
    const cluster = await start()
    await cluster.stop()
    expect(() => cluster.client()).toThrow('the cluster has been stopped')
    await expect(cluster.snapshot()).rejects.toThrow('the cluster has been stopped')
  })

  it('is not alone: two of them in one process know nothing of each other', async () => {
    const [one, other] = await Promise.all([start(), start()])
    await one.admin.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'only-here' } })
    await other.expect({ kind: 'ConfigMap', name: 'only-here', absent: true })
    expect(one.server).not.toBe(other.server)
  })

  // It would take ten seconds to wait for the client.
  it('ends at once, though a client does not read its answer', { timeout: 9000 }, async () => {
    const cluster = await startCluster({ nodes: 0 })
    const config = cluster.kubeconfig()
    const pem = (field: string): Buffer =>
      Buffer.from(new RegExp(`${field}: (\\S+)`).exec(config)?.[1] ?? '', 'base64')
    const credentials = {
      ca: pem('certificate-authority-data'),
      cert: pem('client-certificate-data'),
      key: pem('client-key-data'),
    }
    const answer = await new Promise<IncomingMessage>((resolve) => {
      get(`${cluster.server}/api/v1/configmaps?watch=1`, credentials, resolve)
    })
    answer.pause()
    const ended = new Promise<void>((resolve) => {
      answer.on('error', () => {}).on('close', resolve)
    })
    await cluster.stop()
    answer.resume()
    await ended
  })

  it('says which port is taken', async () => {
    const one = await start()
    const port = Number(new URL(one.server).port)
    await expect(startCluster({ port })).rejects.toThrow(
      `127.0.0.1:${port}: the port is already in use`,
    )
  })
})
