/** Whose requests get a seat, who waits, and who is refused. */
import { describe, expect, it } from 'vitest'
import { createFlowControl } from '../../../components/api-server/flow-control/flow-control.ts'
import type { Seats } from '../../../components/api-server/flow-control/flow-entrance.ts'
import type {
  ObjectChange,
  ObjectReader,
} from '../../../components/api-server/watch-cache/object-reader.ts'
import type { RequestContext, RequestInfo } from '../../../components/api-server/request/request.ts'
import {
  mandatoryFlowControl,
  suggestedFlowControl,
} from '../../../components/api/bootstrap-policy/flow-control-objects.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { createMetrics } from '../../../components/component-base/metrics.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

const dialect = dialects.kubernetes
const resources = resourcesOf(dialect)
const everything = {
  resourceRules: [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] },
  ],
}

function level(name: string, limited: object): KubeObject {
  return {
    metadata: { name, uid: `uid of ${name}` },
    spec: { type: 'Limited', limited },
  } as unknown as KubeObject
}

const queue = (queues: number, handSize: number, queueLengthLimit: number) => ({
  type: 'Queue',
  queuing: { queues, handSize, queueLengthLimit },
})

function schema(name: string, more: Record<string, unknown>): KubeObject {
  const { level: to = name, ...spec } = more
  return {
    metadata: { name, uid: `uid of ${name}` },
    spec: {
      priorityLevelConfiguration: { name: to },
      matchingPrecedence: 500,
      rules: [{ subjects: [{ kind: 'Group', group: { name: 'team' } }], ...everything }],
      ...spec,
    },
  } as unknown as KubeObject
}

function control(
  seats: number,
  objects: { levels: readonly KubeObject[]; schemas: readonly KubeObject[] },
) {
  const clock = new FakeClock()
  let { levels, schemas } = objects
  const handlers: ((change: ObjectChange) => void)[] = []
  const reader: ObjectReader = {
    get: () => undefined,
    list: (resource) => (resource === resources.flowSchemas ? schemas : levels),
    onChange: (_resource, handler) => {
      handlers.push(handler)
      return () => {}
    },
  }
  const flow = createFlowControl({
    reader,
    resources,
    dialect,
    clock,
    seats,
    longestWaitMs: 15_000,
    metrics: createMetrics({ release: '1.32' }),
    countOf: () => undefined,
    withWatchList: true,
  })
  return {
    flow,
    clock,
    change: (to: { levels?: readonly KubeObject[]; schemas?: readonly KubeObject[] }) => {
      levels = to.levels ?? levels
      schemas = to.schemas ?? schemas
      for (const handler of handlers)
        handler({ type: 'MODIFIED', key: '', object: () => schemas[0]! })
    },
  }
}

const nothing: RequestInfo = {
  isResourceRequest: true,
  path: '/',
  query: new URLSearchParams(),
  verb: 'get',
  group: '',
  version: 'v1',
  namespace: 'ns',
  plural: 'pods',
  name: 'p',
  subresource: '',
  rest: [],
}

function asked(
  user: string,
  groups: readonly string[],
  info: Partial<RequestInfo> = {},
  signal = new AbortController().signal,
): RequestContext {
  const who = { name: user, groups }
  const rest = { http: { signal }, receivedAtMs: Date.parse('2025-01-01T00:00:00Z') }
  return { user: who, info: { ...nothing, ...info }, ...rest } as unknown as RequestContext
}

describe('classification', () => {
  const all = [mandatoryFlowControl(dialect), suggestedFlowControl(dialect)]
  const { flow } = control(600, {
    levels: all.flatMap(({ levels }) => levels),
    schemas: all.flatMap(({ schemas }) => schemas),
  })
  const authenticated = 'system:authenticated'
  const account = (namespace: string) => `system:serviceaccount:${namespace}:a`
  const lease = { group: 'coordination.k8s.io', plural: 'leases', verb: 'update' }

  it.each([
    ['an administrator', asked('admin', ['system:masters', authenticated]), 'exempt', 'exempt'],
    [
      'a probe',
      asked('system:anonymous', ['system:unauthenticated'], {
        isResourceRequest: false,
        path: '/readyz',
        plural: '',
      }),
      'probes',
      'exempt',
    ],
    [
      'a heartbeat',
      asked('system:node:n', ['system:nodes', authenticated], lease),
      'system-node-high',
      'node-high',
    ],
    [
      'a status of a node',
      asked('system:node:n', ['system:nodes', authenticated], {
        plural: 'nodes',
        subresource: 'status',
        namespace: '',
      }),
      'system-node-high',
      'node-high',
    ],
    ['another of a node', asked('n', ['system:nodes', authenticated]), 'system-nodes', 'system'],
    [
      'a leader',
      asked('system:kube-scheduler', [authenticated], lease),
      'system-leader-election',
      'leader-election',
    ],
    [
      'another of the scheduler',
      asked('system:kube-scheduler', [authenticated]),
      'kube-scheduler',
      'workload-high',
    ],
    [
      'an account of the system',
      asked(account('kube-system'), ['system:serviceaccounts', authenticated]),
      'kube-system-service-accounts',
      'workload-high',
    ],
    [
      'any account',
      asked(account('kube-system-2'), ['system:serviceaccounts', authenticated]),
      'service-accounts',
      'workload-low',
    ],
    ['a user', asked('jane', [authenticated]), 'global-default', 'global-default'],
    ['somebody in no group', asked('nobody', []), 'catch-all', 'catch-all'],
  ])('%s', (_who, request, name, of) => {
    const found = flow.flowOf(request)
    expect([found.name, found.level.name]).toEqual([name, of])
  })

  it('shares the seats out by the levels’ shares', () => {
    const seats = flow.levels.map(({ name, nominal }) => [name, nominal])
    expect(Object.fromEntries(seats)).toEqual({
      exempt: 0,
      'catch-all': 13,
      system: 74,
      'node-high': 98,
      'leader-election': 25,
      'workload-high': 98,
      'workload-low': 245,
      'global-default': 49,
    })
  })
})

describe('seats', () => {
  /** The level `mine` has two seats of four; the catch-all has the others and lends none. */
  const two = (limitResponse: object, more: object = {}) =>
    control(4, {
      levels: [level('mine', { nominalConcurrencyShares: 5, limitResponse, ...more })],
      schemas: [schema('mine', { distinguisherMethod: { type: 'ByUser' } })],
    })
  type Control = ReturnType<typeof two>
  const enter = ({ flow }: Control, user: string, signal?: AbortSignal) => {
    const request = asked(user, ['team'], {}, signal)
    return flow.enter(flow.flowOf(request), request)
  }
  const seated = (entered: ReturnType<typeof enter>): (() => void) => {
    if (typeof entered === 'string' || entered instanceof Promise) throw new Error('it has no seat')
    const seats: Seats = entered
    return () => seats.leave()
  }

  const countsOf = ({ flow }: Control) => flow.flows.find(({ name }) => name === 'mine')?.counts

  it('that are all taken are refused, or waited for', async () => {
    const rejecting = two({ type: 'Reject' })
    const leave = seated(enter(rejecting, 'a'))
    seated(enter(rejecting, 'a'))
    expect(enter(rejecting, 'a')).toBe('concurrency-limit')
    leave()
    seated(enter(rejecting, 'a'))

    const queuing = two(queue(1, 1, 2))
    const first = seated(enter(queuing, 'a'))
    const second = seated(enter(queuing, 'a'))
    const third = enter(queuing, 'a')
    const fourth = enter(queuing, 'a')
    expect(enter(queuing, 'a')).toBe('queue-full')
    first()
    const thirdLeave = seated(await third)
    second()
    thirdLeave()
    seated(await fourth)()
    expect(countsOf(queuing)).toMatchObject({
      executing: 0,
      executingSeats: 0,
      waiting: 0,
      waitingSeats: 0,
      dispatched: 4,
      refused: { 'concurrency-limit': 0, 'queue-full': 1, 'time-out': 0, cancelled: 0 },
    })
  })

  it('are given to flows in turn, however much one of them asks', async () => {
    const made = two(queue(64, 8, 50))
    const leaves = [seated(enter(made, 'a')), seated(enter(made, 'a'))]
    const order: string[] = []
    const waiting: Promise<void>[] = []
    const add = (user: string): void => {
      const entered = Promise.resolve(enter(made, user))
      waiting.push(entered.then((leave) => void (order.push(user), leaves.push(seated(leave)))))
    }
    for (let count = 0; count < 40; count += 1) add('greedy')
    add('modest')
    while (leaves.length > 0) {
      leaves.shift()?.()
      await settle(1)
    }
    await Promise.all(waiting)
    expect(order).toHaveLength(41)
    // The greedy one waits in eight queues at the most; the modest one is not behind all of it.
    expect(order.indexOf('modest')).toBeLessThan(20)
  })

  it('are not waited for longer than a quarter of a request’s time, nor by who has gone', async () => {
    const made = two(queue(4, 2, 10))
    const leaves = [seated(enter(made, 'a')), seated(enter(made, 'a'))]
    const late = enter(made, 'a')
    await made.clock.step(14_999)
    const gone = new AbortController()
    const left = enter(made, 'b', gone.signal)
    gone.abort()
    await expect(left).resolves.toBe('cancelled')
    await made.clock.step(1)
    await expect(late).resolves.toBe('time-out')
    for (const leave of leaves) leave()
    seated(enter(made, 'a'))
    expect(countsOf(made)).toMatchObject({ executing: 1, waiting: 0 })
  })

  it('that others lend are borrowed after ten seconds, and given back when they are wanted', async () => {
    const made = control(24, {
      levels: [
        level('mine', {
          nominalConcurrencyShares: 100,
          lendablePercent: 50,
          borrowingLimitPercent: 67,
          limitResponse: queue(10, 2, 10),
        }),
        level('rich', {
          nominalConcurrencyShares: 100,
          lendablePercent: 33,
          borrowingLimitPercent: 50,
          limitResponse: queue(10, 2, 10),
        }),
      ],
      schemas: [
        schema('mine', {}),
        schema('rich', {
          rules: [{ subjects: [{ kind: 'User', user: { name: 'r' } }], ...everything }],
        }),
      ],
    })
    const stop = new AbortController()
    const running = made.flow.run(stop.signal)
    const limits = () =>
      made.flow.levels.flatMap(({ name, current }) =>
        name === 'mine' || name === 'rich' ? [current] : [],
      )
    const ask = (user: string, groups: string[]) => {
      const request = asked(user, groups)
      return made.flow.enter(made.flow.flowOf(request), request)
    }
    for (let count = 0; count < 24; count += 1) void ask('a', ['team'])
    for (let count = 0; count < 6; count += 1) void ask('r', [])
    const [before = 0] = limits()
    expect(before).toBeLessThan(16)
    await made.clock.step(10_000)
    // All that the rich lend: a third of their twelve.
    expect(limits()).toEqual([16, 8])
    for (let count = 0; count < 10; count += 1) void ask('r', [])
    await made.clock.step(10_000)
    expect(limits()[1]).toBe(12)
    stop.abort()
    await running
  })

  it('are those of the objects as they are now', async () => {
    const made = two(queue(2, 1, 10))
    const leave = seated(enter(made, 'a'))
    seated(enter(made, 'a'))
    const waiting = enter(made, 'a')
    made.change({
      levels: [level('mine', { nominalConcurrencyShares: 1, limitResponse: queue(8, 2, 10) })],
    })
    // One seat of four now: the two that are taken must both be left first.
    const later = enter(made, 'b')
    leave()
    await settle()
    expect(made.flow.levels.find(({ name }) => name === 'mine')).toMatchObject({
      queueSet: { executing: 1, waiting: 2 },
      nominal: 1,
    })
    made.change({ schemas: [], levels: [] })
    expect(made.flow.flowOf(asked('a', ['team', 'system:authenticated'])).name).toBe('catch-all')
    made.change({
      levels: [level('mine', { nominalConcurrencyShares: 100, limitResponse: queue(8, 2, 10) })],
      schemas: [schema('mine', {})],
    })
    // Nobody leaves, but there are more seats.
    seated(await waiting)
    seated(await later)
  })

  it('a schema whose level is missing matches nothing', () => {
    const { flow } = control(4, { levels: [], schemas: [schema('mine', {})] })
    expect(flow.flowOf(asked('a', ['team'])).name).toBe('catch-all')
  })
})
