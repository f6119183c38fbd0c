import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ClusterConfig, NodeConfig } from '../../../cluster/plan/cluster-config.ts'
import { nodeNames } from '../../../cluster/plan/cluster-config.ts'
import { planCluster } from '../../../cluster/plan/plan.ts'
import {
  isOfPool,
  processInPool,
  simulatedProcesses,
} from '../../../cluster/plan/simulated-pool.ts'
import { pathsIn } from '../../../cluster/state/state-dir.ts'
import { CidrSet } from '../../../components/controller-manager/cidr-set.ts'
import { parseIpRange } from '../../../components/machinery/validation/ip-address.ts'
import { defaultPodRange } from '../../../components/node-agent/pods/pod-addresses.ts'

function planOf(nodes: readonly NodeConfig[]) {
  const config: ClusterConfig = {
    name: 'lab',
    id: 'id',
    dialect: 'kubernetes',
    address: '127.0.0.1',
    port: 6443,
    serviceRange: '10.96.0.0/16',
    caHash: 'sha256:00ff',
    nodes,
    extraFlags: {},
  }
  return planCluster(config, pathsIn('/state'))
}

test('up to 1,250 simulated nodes share one process, and are named after it', () => {
  expect(simulatedProcesses(0)).toEqual([])
  expect(simulatedProcesses(1250)).toEqual([{ name: 'simulated', simulated: 1250 }])
  expect(nodeNames({ name: 'simulated', simulated: 2 })).toEqual(['simulated-0', 'simulated-1'])
})

test('more simulated nodes are in several processes of about the same size, each with a name of its own', () => {
  expect(simulatedProcesses(5000).map(({ simulated }) => simulated)).toEqual([
    1250, 1250, 1250, 1250,
  ])
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), (count) => {
      const processes = simulatedProcesses(count)
      const sizes = processes.map(({ simulated = 0 }) => simulated)
      const names = processes.flatMap(nodeNames)
      expect(new Set([...names, ...processes.map(({ name }) => name)]).size).toBe(
        count + processes.length,
      )
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
      expect(Math.max(...sizes)).toBeLessThanOrEqual(1250)
    }),
    { numRuns: 30 },
  )
})

test('the process of a node is found by the node’s name', () => {
  for (const count of [3, 5000]) {
    for (const process of simulatedProcesses(count)) {
      expect(isOfPool(process.name)).toBe(true)
      for (const name of nodeNames(process)) expect(processInPool(name)).toBe(process.name)
    }
  }
  expect(isOfPool('crowd')).toBe(false)
  expect(processInPool('node-1')).toBeUndefined()
  expect(processInPool('crowd-1')).toBeUndefined()
})

test('the plan has pod addresses for 16,384 nodes, none of them a range that an agent takes by itself', () => {
  const manager = planOf(simulatedProcesses(5000)).find(({ name }) => name === 'controller-manager')
  const flag = manager?.args.find((arg) => arg.startsWith('--cluster-cidr=')) ?? ''
  const whole = parseIpRange(flag.slice('--cluster-cidr='.length))
  if (whole === undefined) throw new Error(`not a range: ${flag}`)
  const set = new CidrSet(whole, 24)
  const services = new CidrSet(whole, 24)
  expect(services.overlaps('10.96.0.0/16')).toBe(false)
  const ranges = new Set<string>()
  for (let node = 0; node < 16_384; node += 1) ranges.add(set.allocateNext() ?? '')
  expect(ranges.size).toBe(16_384)
  expect(ranges).not.toContain('')
  expect(set.allocateNext()).toBeUndefined()
  for (let node = 0; node < 100; node += 1)
    expect(set.overlaps(defaultPodRange(`node-${node}`, 110))).toBe(false)
})

test('processes that follow thousands of objects have a large nursery, those of a small cluster do not', () => {
  const nurseries = (nodes: readonly NodeConfig[]) =>
    planOf(nodes).map(({ name, nodeOptions }) => [name, nodeOptions.at(-1)])
  const large = '--max-semi-space-size=16'
  expect(nurseries([{ name: 'crowd', simulated: 500 }])).toContainEqual(['crowd', large])
  expect(nurseries([{ name: 'crowd', simulated: 500 }])).toContainEqual(['scheduler', large])
  expect(nurseries([{ name: 'node-1' }])).toContainEqual(['scheduler', '--max-semi-space-size=2'])
  expect(nurseries([{ name: 'node-1' }])).toContainEqual(['node-1', '--max-semi-space-size=1'])
})
