/** metrics.k8s.io: what of the agents' summaries reaches clients, whatever single agents answer. */
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readNodeSummary } from '../../../components/api-server/egress/node-summary.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { startFakeNodeAgent, type FakeNodeAgent } from '../../support/fake-node-agent.ts'

const time = '2026-01-02T03:04:05Z'
const usage = (cores: number, bytes: number) => ({
  cpu: { time, usageNanoCores: cores * 1e9 },
  memory: { time, workingSetBytes: bytes },
})
const podUsage = (namespace: string, name: string, ...containers: object[]) => ({
  podRef: { name, namespace, uid: 'any' },
  containers,
})
const mebi = 1024 * 1024

/** What each node's agent answers. */
const answers = (namespace: string): Record<string, (response: ServerResponse) => void> => {
  const good = {
    node: { nodeName: 'good', ...usage(1.5, 512 * mebi) },
    pods: [
      podUsage(namespace, 'web', { name: 'a', ...usage(0.25, 64 * mebi) }, { name: 'b' }),
      podUsage(namespace, 'db', { name: 'c', ...usage(0.001, 1) }),
      podUsage('kube-system', 'dns', { name: 'd', ...usage(0.1, mebi) }),
      podUsage(namespace, 'gone', { name: 'e', ...usage(1, mebi) }),
    ],
  }
  const json = (value: unknown) => (response: ServerResponse) =>
    void response.end(JSON.stringify(value))
  return {
    good: json(good),
    silent: () => {},
    failing: (response) => void response.writeHead(500).end('no'),
    large: (response) => void response.end(Buffer.alloc(9 * 1024 * 1024, ' ')),
    garbled: (response) => void response.end('<html>'),
    odd: json({ node: null, pods: [{}] }),
    lying: json({
      node: usage(1, mebi),
      pods: [podUsage(namespace, 'web', { name: 'a', ...usage(99, mebi) })],
    }),
    unfinished: json({ node: { cpu: { time } } }),
  }
}

describe('the metrics of nodes and pods', () => {
  let server: TestApiServer
  let agent: FakeNodeAgent
  let namespace: string
  let group: string
  const list = async (path: string) => {
    const { items } = await server.ok('GET', `/apis/${group}/v1beta1/${path}`)
    return items as { metadata: { name: string; namespace?: string } }[]
  }
  const names = async (path: string): Promise<string[]> =>
    (await list(path)).map(({ metadata }) => metadata.name).toSorted()

  const addPod = async (at: string, name: string, nodeName: string): Promise<void> => {
    await server.ok('POST', `/api/v1/namespaces/${at}/pods`, {
      body: {
        metadata: { name, labels: { app: name } },
        spec: { nodeName, containers: [{ name: 'a', image: 'i' }] },
      },
    })
  }

  beforeAll(async () => {
    server = await startApiServer({
      flags: ['--metrics-api=true', '--disable-admission-plugins=ServiceAccount'],
    })
    group = server.group('metrics')
    agent = await startFakeNodeAgent(server.pki)
    namespace = await server.namespace()
    const answer = answers(namespace)
    agent.summarize = (node, response) => answer[node]?.(response)
    for (const name of Object.keys(answer)) {
      const body = agent.node(name)
      const labels = { zone: name === 'good' ? 'a' : 'b' }
      await server.ok('POST', '/api/v1/nodes', {
        body: { ...body, metadata: { ...body.metadata, labels } },
      })
      await server.ok('PUT', `/api/v1/nodes/${name}/status`, {
        body: { ...body, metadata: { ...body.metadata, labels } },
      })
    }
    await server.ok('POST', '/api/v1/nodes', { body: { metadata: { name: 'addressless' } } })
    await addPod(namespace, 'web', 'good')
    await addPod(namespace, 'db', 'good')
    await addPod(namespace, 'unmeasured', 'silent')
    await addPod('kube-system', 'dns', 'good')
  })
  afterAll(async () => {
    await agent[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
    expect(server.faults).toEqual([])
  })

  it('are those of agents that answer, whatever the others do', async () => {
    const [node, ...others] = await list('nodes')
    expect(node).toEqual({
      metadata: expect.objectContaining({ name: 'good', labels: expect.anything() }),
      timestamp: time,
      window: '10s',
      usage: { cpu: '1500m', memory: '524288Ki' },
    })
    expect(others.map(({ metadata }) => metadata.name)).toEqual(['lying'])
  })

  it('are asked for once in five seconds, however many clients ask', async () => {
    const before = agent.requests.length
    await Promise.all(Array.from({ length: 20 }, () => list('pods')))
    expect(agent.requests.length - before).toBeLessThanOrEqual(8)
  })

  it('of a pod are those of its own node, without containers that have none', async () => {
    expect(
      await server.ok('GET', `/apis/${group}/v1beta1/namespaces/${namespace}/pods/web`),
    ).toEqual({
      kind: 'PodMetrics',
      apiVersion: `${group}/v1beta1`,
      metadata: expect.objectContaining({ name: 'web', namespace, labels: { app: 'web' } }),
      timestamp: time,
      window: '10s',
      containers: [{ name: 'a', usage: { cpu: '250m', memory: '65536Ki' } }],
    })
  })

  it('are listed for a namespace or all, by labels and by fields', async () => {
    const own = `namespaces/${namespace}/pods`
    expect(await names(own)).toEqual(['db', 'web'])
    expect(await names('pods')).toEqual(['db', 'dns', 'web'])
    expect(await names(`${own}?labelSelector=app%3Ddb`)).toEqual(['db'])
    expect(await names('pods?labelSelector=app%20in%20(dns,web)')).toEqual(['dns', 'web'])
    expect(await names('pods?fieldSelector=metadata.name%3Dweb')).toEqual(['web'])
    expect(await names('pods?fieldSelector=metadata.namespace%3Dkube-system')).toEqual(['dns'])
    expect(await names('nodes?labelSelector=zone%3Db')).toEqual(['lying'])
  })

  it.each([
    ['namespaces/NS/pods/unmeasured', 'podmetrics.GROUP "NS/unmeasured" not found'],
    ['namespaces/NS/pods/none', 'podmetrics.GROUP "NS/none" not found'],
    ['nodes/silent', 'nodemetrics.GROUP "silent" not found'],
    ['nodes/none', 'nodemetrics.GROUP "none" not found'],
  ])('of %s are not found', async (path, message) => {
    const fill = (text: string): string => text.replace('NS', namespace).replace('GROUP', group)
    const reply = await server.request('GET', `/apis/${group}/v1beta1/${fill(path)}`)
    expect([reply.status, reply.body.message]).toEqual([404, fill(message)])
  })

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('cannot be written with %s', async (method) => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    const path = `/apis/${group}/v1beta1/nodes/good`
    const reply = await server.request(method, path, {
      body: {},
      ...(method === 'PATCH' ? { headers } : {}),
    })
    expect(reply.status).toBe(405)
  })
})

it('the metrics group is not served without its flag', async () => {
  await using server = await startApiServer()
  const group = server.group('metrics')
  const { groups } = await server.ok('GET', '/apis')
  expect((groups as { name: string }[]).map(({ name }) => name)).not.toContain(group)
  expect((await server.request('GET', `/apis/${group}/v1beta1/nodes`)).status).toBe(404)
})

describe('a summary that upstream could not read', () => {
  const of = (cpu: object, memory: object = {}) => ({ node: { cpu, memory } })
  it.each<[unknown, string]>([
    [null, 'the summary is not an object'],
    [{}, 'node is not an object'],
    [{ node: [] }, 'node is not an object'],
    [of({ usageNanoCores: 5 }), 'node.cpu.time is not a string'],
    [of({ time: 'now' }), 'node.cpu.time is not a time'],
    [of({ time, usageNanoCores: -1 }), 'node.cpu.usageNanoCores is not an amount'],
    [of({ time, usageNanoCores: 0.5 }), 'node.cpu.usageNanoCores is not an amount'],
    [of({ time, usageNanoCores: 1e30 }), 'node.cpu.usageNanoCores is not an amount'],
    [of({ time, usageNanoCores: '5' }), 'node.cpu.usageNanoCores is not an amount'],
    [of({ time }, { workingSetBytes: {} }), 'node.memory.workingSetBytes is not an amount'],
    [{ node: {}, pods: {} }, 'pods is not a list'],
    [{ node: {}, pods: [{}] }, 'pods[0].podRef is not an object'],
    [{ node: {}, pods: [podUsage('a', 'b', {})] }, 'pods[0].containers[0].name is not a string'],
  ])('is refused: %j', (summary, why) => {
    expect(() => readNodeSummary(JSON.stringify(summary))).toThrow(why)
  })

  it('is not one without pods or figures', () => {
    expect(readNodeSummary('{"node":{"cpu":null},"pods":null}')).toEqual({ node: {}, pods: [] })
  })
})
