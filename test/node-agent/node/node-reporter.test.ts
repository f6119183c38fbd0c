import { afterEach, expect, test } from 'vitest'
import type { Node, NodeStatus } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { ConnectionError } from '../../../components/client/connection-error.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { basicHostInfo } from '../../../components/node-agent/node/host-info.ts'
import { createNodeReporter } from '../../../components/node-agent/node/node-reporter.ts'
import { nodeResources } from '../../../components/node-agent/node/node-resources.ts'
import { registerNode } from '../../../components/node-agent/node/register.ts'
import { FakeCluster } from '../../support/fake-client.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

const stops: AbortController[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort(new Error('the test is over'))
})

const host = basicHostInfo()

async function start(created?: NodeStatus) {
  const clock = new FakeClock()
  const server = new FakeCluster(clock)
  const resources = resourcesOf(server.dialect)
  const nodes = server.client().resource<Node>(resources.nodes)
  server.seed(resources.nodes, { metadata: { name: 'n1' } })
  const state: { fault: string | undefined } = { fault: undefined }
  const reporter = createNodeReporter({
    nodes,
    nodeName: 'n1',
    observe: async () => ({
      host,
      ...nodeResources(host, { maxPods: 110 }),
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      port: 1,
      runtimeVersion: 'simulated://test',
      pressure: { memory: false, disk: false, processes: false },
      fault: state.fault,
    }),
    initial: undefined,
    created,
    lookEveryMs: 10_000,
    clock,
    log: silentLog,
  })
  const stop = new AbortController()
  stops.push(stop)
  reporter.run(stop.signal).catch(() => {})
  await settle()
  const reports = () => server.writes.filter((write) => write === 'patch nodes/status n1').length
  return { clock, server, resources, reporter, state, reports }
}

test('[NODE-014] an idle node reports once in five minutes', async () => {
  const { clock, reports } = await start()
  expect(reports()).toBe(1)
  await clock.step(5 * 60_000 - 1)
  expect(reports()).toBe(1)
  await clock.step(1)
  expect(reports()).toBe(2)
  await clock.step(5 * 60_000)
  expect(reports()).toBe(3)
})

test('the status that a Node was created with counts as a report', async () => {
  const { server, resources } = await start()
  const created = server.peek<Node>(resources.nodes, 'n1')?.status
  const again = await start(created)
  await again.reporter.reported
  expect(again.reports()).toBe(0)
  await again.clock.step(5 * 60_000 - 1)
  expect(again.reports()).toBe(0)
  await again.clock.step(1)
  expect(again.reports()).toBe(1)
})

test('[LIM-009] nothing that changes means one status in five minutes, however often the agent looks', async () => {
  const { clock, server, reports } = await start()
  const writes = server.writes.length
  for (let minute = 1; minute <= 60; minute += 1) await clock.step(60_000)
  expect(reports()).toBe(13)
  expect(server.writes.length - writes).toBe(12)
})

test('[NODE-014] a change that is known is reported at once, others at the next look', async () => {
  const { clock, server, resources, reporter, state, reports } = await start()
  state.fault = 'down'
  reporter.wake()
  await settle()
  expect(reports()).toBe(2)
  const ready = server
    .peek<Node>(resources.nodes, 'n1')
    ?.status?.conditions?.find(({ type }) => type === 'Ready')
  expect(ready).toMatchObject({ status: 'False', message: 'down' })
  state.fault = undefined
  await clock.step(10_000)
  expect(reports()).toBe(3)
})

test('a status that somebody else changed is reported again', async () => {
  const { server, resources, reporter, reports } = await start()
  const unknown = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }]
  reporter.seen({ conditions: unknown })
  reporter.wake()
  await settle()
  expect(reports()).toBe(2)
  const ready = server
    .peek<Node>(resources.nodes, 'n1')
    ?.status?.conditions?.find(({ type }) => type === 'Ready')
  expect(ready?.status).toBe('True')
})

test('a verdict of somebody else is answered, other changes are not', async () => {
  const { server, resources, reporter, reports } = await start()
  const tell = (): void => {
    reporter.seen(server.peek<Node>(resources.nodes, 'n1')?.status)
    reporter.wake()
  }
  server.change(resources.nodes, 'n1', (stored) => {
    stored['status'].conditions.push({ type: 'NetworkUnavailable', status: 'False' })
    stored['status'].capacity.cpu = '4000m'
  })
  tell()
  await settle()
  expect(reports()).toBe(1)
  server.change(resources.nodes, 'n1', (stored) => {
    for (const condition of stored['status'].conditions) condition.status = 'Unknown'
  })
  tell()
  await settle()
  expect(reports()).toBe(2)
  tell()
  await settle()
  expect(reports()).toBe(2)
})

test('a report that fails is tried again', async () => {
  const { clock, server, state, reporter, reports } = await start()
  const unreact = server.react('patch', 'nodes/status', () => {
    throw new ConnectionError('refused', 'nobody listens')
  })
  state.fault = 'down'
  reporter.wake()
  await clock.step(2000)
  unreact()
  const before = reports()
  await clock.step(10_000)
  expect(reports()).toBe(before + 1)
})

test('registration makes the node, or mends the labels of the one there and keeps its taints', async () => {
  const clock = new FakeClock()
  const server = new FakeCluster(clock)
  const resources = resourcesOf(server.dialect)
  const nodes = server.client().resource<Node>(resources.nodes)
  const taints = [{ key: 'a', effect: 'NoSchedule' }]
  const register = (zone: string) =>
    registerNode(
      {
        nodes,
        registration: {
          nodeName: 'n1',
          labels: {},
          taints,
          isUnschedulable: false,
          providerId: undefined,
        },
        labels: { zone },
        status: () => ({}),
        clock,
        log: silentLog,
      },
      new AbortController().signal,
    )
  await register('one')
  expect(server.peek(resources.nodes, 'n1')).toMatchObject({
    metadata: { labels: { zone: 'one' } },
    spec: { taints },
  })
  server.change(resources.nodes, 'n1', (stored) => {
    stored['spec'].taints = [{ key: 'b', effect: 'NoExecute' }]
    stored['metadata'].labels = { zone: 'one', mine: 'kept' }
  })
  const { node: again, isNew } = await register('two')
  expect(isNew).toBe(false)
  expect(again.metadata.labels).toEqual({ zone: 'two', mine: 'kept' })
  expect(again.spec?.taints).toEqual([{ key: 'b', effect: 'NoExecute' }])
})

test('registration goes on until the server is there', async () => {
  const clock = new FakeClock()
  const server = new FakeCluster(clock)
  const resources = resourcesOf(server.dialect)
  const unreact = server.react('create', 'nodes', () => {
    throw new ConnectionError('refused', 'nobody listens')
  })
  const registered = registerNode(
    {
      nodes: server.client().resource<Node>(resources.nodes),
      registration: {
        nodeName: 'n1',
        labels: {},
        taints: [],
        isUnschedulable: true,
        providerId: 'p://1',
      },
      labels: {},
      status: () => ({}),
      clock,
      log: silentLog,
    },
    new AbortController().signal,
  )
  await clock.step(3000)
  unreact()
  await clock.step(7000)
  const { node, isNew } = await registered
  expect(isNew).toBe(true)
  expect(node.spec).toEqual({ unschedulable: true, providerID: 'p://1' })
})
