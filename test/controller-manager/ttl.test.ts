import { afterEach, describe, expect, it } from 'vitest'
import type { Node } from '../../components/api/generated/types.ts'
import { stepFor, ttlController } from '../../components/controller-manager/ttl.ts'
import { internalError, tooManyRequests } from '../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../support/reconciler-harness.ts'

const annotation = 'node.alpha.kubernetes.io/ttl'

let harness: ReconcilerHarness
afterEach(async () => {
  await harness?.stop()
})

async function start(count: number): Promise<void> {
  harness = createReconcilerHarness()
  add(0, count)
  await harness.start(ttlController)
  await harness.step()
}

function add(from: number, to: number): void {
  for (let i = from; i < to; i += 1)
    harness.cluster.seed(harness.resources.nodes, { metadata: { name: `n${i}` }, spec: {} })
}

/** As the status report of the node's agent. */
function report(name: string): void {
  harness.cluster.change(harness.resources.nodes, name, (node) => {
    node['status'] = { phase: `reported at ${harness.clock.now()}` }
  })
}

function reportAll(): void {
  for (const { metadata } of harness.cluster.all<Node>(harness.resources.nodes))
    report(metadata.name ?? '')
}

function values(): Set<string | undefined> {
  const nodes = harness.cluster.all<Node>(harness.resources.nodes)
  return new Set(nodes.map(({ metadata }) => metadata.annotations?.[annotation]))
}

describe('ttl-controller', () => {
  it.each([
    [1, '0'],
    [100, '0'],
    [101, '15'],
  ])('of %i nodes each may keep what it read for %s s', async (count, ttl) => {
    await start(count)
    expect(values()).toEqual(new Set([ttl]))
    expect(harness.cluster.writes.length).toBe(count)
    await harness.step(600_000)
    expect(harness.cluster.writes.length).toBe(count)
    expect(harness.complaints).toEqual([])
  })

  it('at a bound the time does not change to and fro', async () => {
    await start(101)
    for (let i = 0; i < 11; i += 1) harness.cluster.remove(harness.resources.nodes, `n${i}`)
    await harness.step()
    expect(values()).toEqual(new Set(['15']))
    harness.cluster.remove(harness.resources.nodes, 'n11')
    reportAll()
    await harness.step()
    expect(values()).toEqual(new Set(['0']))
  })

  it('past a bound, each node gets its new time after its next change, and no patch before', async () => {
    await start(100)
    add(100, 101)
    await harness.step(600_000)
    expect(values()).toEqual(new Set(['0', '15']))
    expect(harness.cluster.writes.length).toBe(101)
    report('n7')
    await harness.step()
    expect(harness.cluster.writes.length).toBe(102)
    reportAll()
    await harness.step()
    expect(values()).toEqual(new Set(['15']))
    expect(harness.cluster.writes.length).toBe(201)
  })

  it.each([
    [501, 1, 2],
    [1001, 2, 3],
    [2001, 0, 4],
    [1800, 4, 4],
    [1799, 4, 3],
    [0, 4, 0],
  ])('%i nodes lead from step %i to %i', (nodes, from, to) => {
    expect(stepFor(nodes, from)).toBe(to)
  })

  it('a foreign value is set right, over 429 and 500', async () => {
    await start(1)
    let isBroken = true
    harness.cluster.react('patch', 'nodes', () => {
      if (isBroken) throw harness.clock.random() < 0.5 ? tooManyRequests() : internalError('broken')
    })
    harness.cluster.change(harness.resources.nodes, 'n0', (node) => {
      node.metadata.annotations = { [annotation]: 'soon', other: 'stays' }
    })
    await harness.step(120_000)
    isBroken = false
    await harness.step(1_000_000)
    const node = harness.cluster.peek(harness.resources.nodes, 'n0')
    expect(node?.metadata.annotations).toEqual({ [annotation]: '0', other: 'stays' })
  })
})
