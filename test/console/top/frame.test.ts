/** Frames of `skiff top`: what the screen shows of the tables. */
import { describe, expect, it } from 'vitest'
import type { RequestRecord } from '../../../components/api/request-record.ts'
import { frameOf, pageHeight } from '../../../console/top/frame.ts'
import {
  LiveTables,
  mostEvents,
  mostRequests,
  type PodRow,
} from '../../../console/top/live-tables.ts'
import { PaneRows } from '../../../console/top/pane-rows.ts'
import { paneNames } from '../../../console/top/panes.ts'
import { firstView, type ViewState } from '../../../console/top/view-state.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const nowMs = Date.parse('2026-11-22T12:00:00Z')

const pod = (key: string, more: Partial<PodRow> = {}): PodRow => ({
  key,
  uid: key,
  node: 'n1',
  status: 'Running',
  ready: true,
  restarts: 0,
  cpuMilli: 500,
  memoryBytes: 2 ** 29,
  ...more,
})

const put = (tables: LiveTables, ...rows: readonly PodRow[]): void =>
  tables.putPods(rows.map((row) => [row.key, row]))

function tablesOf(): LiveTables {
  const tables = new LiveTables()
  const node = {
    name: 'n1',
    uid: 'n1',
    ready: 'True',
    trouble: [],
    taints: ['a:NoSchedule'],
    unschedulable: false,
    maxPods: 110,
    cpuMilli: 4000,
    memoryBytes: 8 * 2 ** 30,
  }
  tables.putNodes([['n1', node]])
  tables.putLeases([['n1', { renewedMs: nowMs - 3000, leaseMs: 40_000 }]])
  put(
    tables,
    pod('shop/web'),
    pod('shop/db', { restarts: 3, status: 'CrashLoopBackOff', ready: false }),
  )
  return tables
}

function draw(
  tables: LiveTables,
  more: {
    view?: ViewState
    rows?: number
    colors?: boolean
    loss?: { why: string; forMs: number }
  } = {},
): string[] {
  const { view = firstView(), rows = 30, colors = false, loss } = more
  const clock = new FakeClock(nowMs)
  const all = new Map(paneNames.map((name) => [name, new PaneRows(name, clock)]))
  return frameOf({
    title: 'lab',
    tables,
    view,
    rowsOf: (name) => all.get(name)?.get(view.panes[name].order, { tables, nowMs }) ?? [],
    nowMs,
    rows,
    colors,
    loss,
  })
}

const ordered = (view: ViewState, pane: 'pods' | 'nodes', order: object): ViewState => ({
  ...view,
  pane,
  panes: {
    ...view.panes,
    [pane]: { ...view.panes[pane], order: { ...view.panes[pane].order, ...order } },
  },
})

describe('a frame', () => {
  it('shows all panes, with the age of heartbeats and what pods request of a node', () => {
    const lines = draw(tablesOf())
    expect(lines).toHaveLength(30)
    expect(lines[0]).toBe('skiff top  lab  1/1 nodes Ready, 2 pods')
    expect(lines).toContain('▶ Nodes (1)  by NODE')
    expect(lines).toContain('> n1    Ready  3s         2/110  1/4  1.0/8.0     a:NoSchedule')
    expect(lines).toContain('  shop/db   CrashLoopBackOff  no     3         n1    -')
    expect(lines).toContain('  Requests (0)  by AGE')
  })

  it('shows the pane in front alone on a small screen', () => {
    const lines = draw(tablesOf(), { rows: 10 })
    expect(lines).toHaveLength(10)
    expect(lines.join('\n')).not.toContain('Pods (')
    expect(pageHeight(firstView(), 10)).toBe(6)
  })

  it('never has more lines than the screen has rows', () => {
    for (const rows of [1, 2, 3, 5, 21, 22, 23, 60]) {
      expect(draw(tablesOf(), { rows })).toHaveLength(rows)
    }
  })

  it('counts what a pod requests only while it has a node and has not ended', () => {
    const tables = tablesOf()
    put(tables, pod('shop/web', { status: 'Completed' }), pod('shop/new', { node: '' }))
    expect(tables.useOf('n1')).toEqual({ pods: 1, cpuMilli: 500, memoryBytes: 2 ** 29 })
    tables.putPods([['shop/db', undefined]])
    expect(tables.useOf('n1')).toEqual({ pods: 0, cpuMilli: 0, memoryBytes: 0 })
  })

  it('filters in what the rows show, and says how many there are of how many', () => {
    const lines = draw(tablesOf(), { view: ordered(firstView(), 'pods', { filter: 'crashloop' }) })
    expect(lines).toContain('▶ Pods (1 of 2)  by POD  filter: crashloop')
    expect(lines.join('\n')).not.toContain('shop/web')
  })

  it('sorts numbers from the greatest down, and keeps the order of keys for equal ones', () => {
    const tables = tablesOf()
    put(tables, pod('shop/a'), pod('shop/z', { restarts: 9 }))
    const shown = (order: object): string[] =>
      draw(tables, { view: ordered(firstView(), 'pods', order) })
        .map((line) => /shop\/\w+/.exec(line)?.[0] ?? '')
        .filter((name) => name !== '')
    expect(shown({ sort: 3 })).toEqual(['shop/z', 'shop/db', 'shop/a', 'shop/web'])
    expect(shown({ sort: 3, isReversed: true })).toEqual([
      'shop/web',
      'shop/a',
      'shop/db',
      'shop/z',
    ])
  })

  it('shows the selected row wherever it has moved', () => {
    const tables = new LiveTables()
    put(
      tables,
      ...Array.from({ length: 100 }, (_, index) => pod(`shop/p${String(index).padStart(3, '0')}`)),
    )
    const view = firstView()
    const panes = { ...view.panes, pods: { ...view.panes.pods, selected: 'shop/p070' } }
    const lines = draw(tables, { view: { ...view, pane: 'pods', panes } })
    expect(lines.some((line) => line.startsWith('> shop/p070 '))).toBe(true)
  })

  it('escapes control characters of the cluster', () => {
    const tables = tablesOf()
    const event = {
      key: 'a/b',
      atMs: nowMs,
      type: 'Normal',
      reason: '\u001b[2J',
      regarding: 'Pod a/b',
      message: 'x\u0007',
      count: 1,
    }
    tables.putEvents([['a/b', event]])
    tables.setNotice('requests', '\u001b[31mno')
    const text = draw(tables, { view: { ...firstView(), details: undefined } }).join('\n')
    expect(text).not.toContain('\u001b')
    expect(text).toContain('\\u001b[2J')
  })

  it('says that the cluster does not answer, and why a pane is empty', () => {
    const tables = tablesOf()
    tables.setNotice('requests', 'This API server has no journal of requests.')
    const lines = draw(tables, { loss: { why: 'connect ECONNREFUSED', forMs: 5000 } })
    expect(lines[1]).toBe('The cluster has not answered for 5s: connect ECONNREFUSED')
    expect(lines).toContain('  This API server has no journal of requests.')
  })

  it('has colours only where they are wanted', () => {
    expect(draw(tablesOf(), { colors: true }).join('')).toContain('\u001b[')
    expect(draw(tablesOf()).join('')).not.toContain('\u001b[')
  })
})

describe('tables', () => {
  const record = (seq: number): RequestRecord => ({
    seq,
    id: `id-${seq}`,
    atMs: nowMs,
    durationMs: 1.25,
    user: 'alice',
    userAgent: 'kubectl',
    verb: 'list',
    group: 'apps',
    resource: 'deployments',
    subresource: '',
    namespace: 'shop',
    name: '',
    path: '/apis/apps/v1/namespaces/shop/deployments',
    status: 403,
    decision: 'deny',
    cause: { kind: 'watch', what: 'pods', key: 'shop/web' },
  })

  it('show a request with its cause', () => {
    const tables = tablesOf()
    tables.addRequests([record(1)])
    const lines = draw(tables, { view: { ...firstView(), pane: 'requests' } })
    expect(lines).toContain(
      '> 0s   403     list  deployments.apps shop  alice  1.3  watch pods shop/web',
    )
  })

  it('keep the newest requests and events of what never ends', () => {
    const tables = new LiveTables()
    for (let seq = 1; seq <= 5000; seq += 1) tables.addRequests([record(seq)])
    expect(tables.requests.length).toBeLessThanOrEqual(2 * mostRequests)
    expect(tables.requests.at(-1)?.seq).toBe(5000)
    const event = (at: number) => ({
      key: `a/${at}`,
      atMs: at,
      type: '',
      reason: '',
      regarding: '',
      message: '',
      count: 1,
    })
    for (let at = 1; at <= 5000; at += 1) tables.putEvents([[`a/${at}`, event(at)]])
    expect(tables.events.size).toBeLessThanOrEqual(2 * mostEvents)
    expect(tables.events.has('a/5000')).toBe(true)
    expect(tables.events.has('a/1')).toBe(false)
  })
})

describe('the rows of a pane', () => {
  it('are not sorted again before ten times what the last sort took, but for a key', () => {
    let elapsedMs = 0
    const clock = new FakeClock(nowMs)
    // Each look at the clock costs 10 ms: a sort looks twice.
    clock.elapsed = () => (elapsedMs += 10)
    const tables = tablesOf()
    const rows = new PaneRows('pods', clock)
    const { order } = firstView().panes.pods
    const context = { tables, nowMs }
    expect(rows.get(order, context)).toHaveLength(2)
    put(tables, pod('shop/new'))
    expect(rows.get(order, context)).toHaveLength(2)
    expect(rows.get({ ...order, isReversed: true }, context)).toHaveLength(3)
    put(tables, pod('shop/newer'))
    elapsedMs += 1000
    expect(rows.get({ ...order }, context)).toHaveLength(4)
  })
})
