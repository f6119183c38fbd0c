/** The map of the cluster: where things are, what they look like, and what moves. Pure parts of the page. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ClusterModel } from '../../../console/page/views/cluster/cluster-model.ts'
import {
  findAt,
  layoutNodes,
  neighbour,
  podCentre,
} from '../../../console/page/views/cluster/layout.ts'
import { figuresOf, spoken } from '../../../console/page/views/cluster/summary.ts'
import { liveliness, podTone } from '../../../console/page/views/cluster/tones.ts'
import type { SlimNode, SlimPod } from '../../../console/protocol/live.ts'

const room = { width: 1200, height: 700 }

function pod(key: string, node: string, more: Partial<SlimPod> = {}): SlimPod {
  return { key, uid: key, node, status: 'Running', ready: true, restarts: 0, ...more }
}

function node(name: string, more: Partial<SlimNode> = {}): SlimNode {
  return {
    ...{ name, uid: name, ready: 'True', trouble: [], taints: [], unschedulable: false },
    ...{ maxPods: 110, cpuMilli: 2000, memoryBytes: 2 ** 30, renewedMs: 1, leaseMs: 40_000 },
    ...more,
  }
}

const byKey = <T>(rows: readonly T[], keyOf: (row: T) => string): Map<string, T> =>
  new Map(rows.map((row) => [keyOf(row), row]))
const nodesOf = (...nodes: SlimNode[]) => byKey(nodes, ({ name }) => name)
const podsOf = (...pods: SlimPod[]) => byKey(pods, ({ key }) => key)

/** As a channel has them. */
const rowsOf = (
  version: number,
  rows: ReadonlyMap<string, SlimPod>,
  changed?: readonly string[],
) => ({
  rows,
  version,
  changed: changed === undefined ? undefined : new Set(changed),
})

describe('the layout', () => {
  const anyNodes = fc
    .array(fc.nat(60), { minLength: 1, maxLength: 300 })
    .map((counts) => counts.map((pods, at) => ({ name: `n${at}`, pods })))

  test('puts every node and every pod where a click finds it', () => {
    fc.assert(
      fc.property(anyNodes, fc.integer({ min: 200, max: 4000 }), (nodes, width) => {
        const layout = layoutNodes(nodes, { width, height: 700 })
        expect(layout.tiles).toHaveLength(nodes.length)
        for (const [at, tile] of layout.tiles.entries()) {
          expect(tile.x + tile.width).toBeLessThanOrEqual(width)
          for (let index = 0; index < (nodes[at]?.pods ?? 0); index += 1) {
            const { x, y } = podCentre(tile, index, layout)
            expect(findAt(layout, x, y)).toEqual({ tile, podIndex: index })
          }
        }
      }),
      { numRuns: 60 },
    )
  })

  test('fits 1,000 nodes with 20 pods each to a screen', () => {
    const nodes = Array.from({ length: 1000 }, (_, at) => ({ name: `n${at}`, pods: 20 }))
    expect(layoutNodes(nodes, room).height).toBeLessThanOrEqual(room.height)
  })

  test('lets arrow keys reach every node', () => {
    const nodes = Array.from({ length: 50 }, (_, at) => ({ name: `n${at}`, pods: 1 }))
    const layout = layoutNodes(nodes, room)
    let at = neighbour(layout, undefined, 'ArrowRight')
    const seen = new Set([at])
    for (let steps = 0; steps < 60; steps += 1) seen.add((at = neighbour(layout, at, 'ArrowRight')))
    expect(seen.size).toBe(50)
    const below = neighbour(layout, 'n0', 'ArrowDown')
    expect(neighbour(layout, below, 'ArrowUp')).toBe('n0')
  })
})

describe('the model', () => {
  test('orders nodes by the numbers in their names', () => {
    const model = new ClusterModel()
    model.setNodes(nodesOf(node('node-10'), node('node-2')), undefined, 0)
    expect(model.toPlace().map(({ name }) => name)).toEqual(['node-2', 'node-10'])
  })

  test('moves a pod that was waiting when it is bound, and no other', () => {
    const model = new ClusterModel()
    model.setNodes(nodesOf(node('a')), undefined, 0)
    model.setPods(rowsOf(0, podsOf(pod('d/w', ''), pod('d/r', 'a'))), 0)
    const bound = podsOf(pod('d/w', 'a'), pod('d/r', 'a', { restarts: 1 }))
    model.setPods(rowsOf(1, bound, ['d/w', 'd/r']), 100)
    expect(model.moves(200)).toEqual([{ key: 'd/w', share: 0.2 }])
    expect(model.moves(600)).toEqual([])
  })

  test('has the pods of each node after any changes, also when it missed some', () => {
    const change = fc.record({
      key: fc.constantFrom('d/a', 'd/b', 'd/c', 'd/e'),
      node: fc.constantFrom('', 'n1', 'n2', undefined),
      isSeen: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const model = new ClusterModel()
        const rows = new Map<string, SlimPod>()
        model.setPods(rowsOf(0, rows), 0)
        for (const [at, { key, node, isSeen }] of changes.entries()) {
          if (node === undefined) rows.delete(key)
          else rows.set(key, pod(key, node))
          if (isSeen) model.setPods(rowsOf(at + 1, rows, [key]), at)
        }
        model.setPods(rowsOf(changes.length + 1, rows, []), 0)
        for (const node of ['', 'n1', 'n2']) {
          const keys = [...rows.values()].filter((one) => one.node === node).map(({ key }) => key)
          expect(model.podsOf(node).map(({ key }) => key)).toEqual(keys.toSorted())
        }
      }),
    )
  })

  test('lets what changed glow for a while, and rests then', () => {
    const model = new ClusterModel()
    model.setPods(rowsOf(0, podsOf(pod('d/a', 'n')), ['d/a']), 1000)
    expect(model.glows.strength('d/a', 1000)).toBe(1)
    expect(model.isMoving(1000)).toBe(true)
    expect(model.isMoving(3000)).toBe(false)
  })

  test('counts the age of a heartbeat from when it was seen, never by the node’s clock', () => {
    const model = new ClusterModel()
    model.setNodes(nodesOf(node('a', { renewedMs: 9e15 })), undefined, 1000)
    model.setNodes(nodesOf(node('a', { renewedMs: 9e15 })), new Set(['a']), 5000)
    expect(model.heartbeatAgeMs('a', 6000)).toBe(5000)
    model.setNodes(nodesOf(node('a', { renewedMs: 3 })), new Set(['a']), 7000)
    expect(model.heartbeatAgeMs('a', 7000)).toBe(0)
  })
})

test('a node fades as its lease ages, and never vanishes', () => {
  expect(liveliness(0)).toBe(1)
  expect(liveliness(10_000)).toBe(1)
  expect(liveliness(25_000)).toBeLessThan(0.7)
  expect(liveliness(1e9)).toBe(0.25)
  expect(liveliness(undefined)).toBe(1)
})

test('a pod has the tone of its status', () => {
  const tone = (status: string, ready = false) => podTone({ status, ready })
  expect([tone('Running', true), tone('Running'), tone('Pending')]).toEqual([
    'good',
    'warn',
    'accent',
  ])
  expect(
    ['CrashLoopBackOff', 'ImagePullBackOff', 'Error', 'OOMKilled'].map((one) => tone(one)),
  ).toEqual(Array.from({ length: 4 }, () => 'bad'))
})

test('the figures make one sentence', () => {
  const figures = figuresOf(
    [node('a'), node('b', { ready: 'Unknown' })],
    [pod('d/1', 'a'), pod('d/2', '', { status: 'Pending', ready: false })],
  )
  expect(spoken(figures)).toBe('1 of 2 nodes Ready, 2 pods, 1 without a node')
})
