import { describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import {
  parseEvictionThresholds,
  pressureOf,
} from '../../../components/node-agent/node/eviction-thresholds.ts'
import { basicHostInfo } from '../../../components/node-agent/node/host-info.ts'
import { nodeResources } from '../../../components/node-agent/node/node-resources.ts'
import type { NodeStatusInput } from '../../../components/node-agent/node/node-status.ts'
import {
  isStatusNews,
  nodeStatusOf,
  reportDueIn,
} from '../../../components/node-agent/node/node-status.ts'
import { nodeLabels, parseTaint } from '../../../components/node-agent/node/register.ts'

const host = { ...basicHostInfo(), architecture: 'amd64', operatingSystem: 'linux', cpuCount: 4 }
const calm = { memory: false, disk: false, processes: false }

function input(more: Partial<NodeStatusInput> = {}): NodeStatusInput {
  return {
    host,
    ...nodeResources(host, { maxPods: 110 }),
    addresses: [
      { type: 'InternalIP', address: '127.0.0.1' },
      { type: 'Hostname', address: 'n1' },
    ],
    port: 10_250,
    runtimeVersion: 'simulated://0.1.0',
    pressure: calm,
    fault: undefined,
    nowMs: Date.parse('2025-01-01T00:00:00Z'),
    ...more,
  }
}
const later = { nowMs: Date.parse('2025-01-01T00:05:00Z') }

function conditionOf(status: ReturnType<typeof nodeStatusOf>, type: string) {
  return status.conditions?.find((condition) => condition.type === type)
}

describe('the status', () => {
  test('[NODE-001] has addresses', () => {
    expect(nodeStatusOf(input(), undefined).addresses).toEqual([
      { type: 'InternalIP', address: '127.0.0.1' },
      { type: 'Hostname', address: 'n1' },
    ])
  })

  test('[NODE-002] [NODE-006] [NODE-009] has conditions of its four types, each with six fields', () => {
    const { conditions = [] } = nodeStatusOf(input(), undefined)
    expect(conditions.map(({ type }) => type)).toEqual([
      'MemoryPressure',
      'DiskPressure',
      'PIDPressure',
      'Ready',
    ])
    for (const condition of conditions) {
      expect(Object.keys(condition).toSorted()).toEqual([
        'lastHeartbeatTime',
        'lastTransitionTime',
        'message',
        'reason',
        'status',
        'type',
      ])
    }
  })

  test('[NODE-003] has a capacity of cpu, memory and pods', () => {
    const { capacity } = nodeStatusOf(input(), undefined)
    expect(capacity).toMatchObject({ cpu: '4', pods: '110' })
    expect(capacity?.['memory']).toMatch(/^\d+Ki$/)
  })

  test('[NODE-004] has an allocatable that is capacity less what is kept, and never below zero', () => {
    const { capacity, allocatable } = nodeResources(host, {
      maxPods: 10,
      capacity: { memory: '8Gi', 'example.com/gpu': '2' },
      systemReserved: { cpu: '500m', memory: '1Gi' },
      kubeReserved: { cpu: '100', memory: '1Gi' },
      evictionHard: parseEvictionThresholds('memory.available<100Mi'),
    })
    expect(capacity).toEqual({ cpu: '4', memory: '8Gi', pods: '10', 'example.com/gpu': '2' })
    expect(allocatable).toEqual({
      cpu: '0',
      memory: '6044Mi',
      pods: '10',
      'example.com/gpu': '2',
    })
  })

  test('has the disk as ephemeral storage, less what is kept free', () => {
    const { capacity, allocatable } = nodeResources(
      { ...host, diskBytes: 100 * 1024 * 1024 },
      { maxPods: 10, evictionHard: parseEvictionThresholds('nodefs.available<10%') },
    )
    expect(capacity['ephemeral-storage']).toBe('102400Ki')
    expect(allocatable['ephemeral-storage']).toBe('90Mi')
  })

  test('[NODE-005] has the versions of agent and runtime and the operating system', () => {
    expect(nodeStatusOf(input(), undefined).nodeInfo).toMatchObject({
      kubeletVersion: expect.stringMatching(/^v1\.32\./) as string,
      containerRuntimeVersion: 'simulated://0.1.0',
      operatingSystem: 'linux',
      architecture: 'amd64',
      kernelVersion: expect.stringMatching(/./) as string,
      osImage: expect.stringMatching(/./) as string,
    })
  })

  test('[NODE-008] moves the transition time only with the status, the heartbeat time always', () => {
    const first = nodeStatusOf(input(), undefined)
    const second = nodeStatusOf(input(later), first)
    expect(conditionOf(second, 'Ready')).toMatchObject({
      lastTransitionTime: '2025-01-01T00:00:00Z',
      lastHeartbeatTime: '2025-01-01T00:05:00Z',
    })
    const third = nodeStatusOf(input({ ...later, fault: 'down' }), first)
    expect(conditionOf(third, 'Ready')?.lastTransitionTime).toBe('2025-01-01T00:05:00Z')
    expect(conditionOf(third, 'DiskPressure')?.lastTransitionTime).toBe('2025-01-01T00:00:00Z')
  })

  test('[NODE-010] is Ready while nothing is wrong', () => {
    expect(conditionOf(nodeStatusOf(input(), undefined), 'Ready')).toMatchObject({
      status: 'True',
      reason: 'KubeletReady',
      message: 'kubelet is posting ready status',
    })
  })

  test('[NODE-011] is not Ready when the runtime is down, and says why', () => {
    const status = nodeStatusOf(input({ fault: 'container runtime is down' }), undefined)
    expect(conditionOf(status, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message: 'container runtime is down',
    })
  })

  test('says True for each pressure that exists, else False', () => {
    for (const [key, type] of [
      ['memory', 'MemoryPressure'],
      ['disk', 'DiskPressure'],
      ['processes', 'PIDPressure'],
    ] as const) {
      const status = nodeStatusOf(input({ pressure: { ...calm, [key]: true } }), undefined)
      const states = status.conditions?.filter((condition) => condition.status === 'True')
      expect(states?.map((condition) => condition.type)).toEqual([type, 'Ready'])
    }
  })

  test('[NODE-007] never has a condition that is neither True nor False', () => {
    const statuses = [input(), input({ pressure: { memory: true, disk: true, processes: true } })]
    for (const each of statuses) {
      for (const { status } of nodeStatusOf(each, undefined).conditions ?? []) {
        expect(['True', 'False']).toContain(status)
      }
    }
  })
})

describe('when a report is due', () => {
  test('[NODE-014] at once with news, else five minutes after the last', () => {
    const first = nodeStatusOf(input(), undefined)
    expect(isStatusNews(undefined, first)).toBe(true)
    expect(isStatusNews(first, nodeStatusOf(input(later), first))).toBe(false)
    expect(isStatusNews(first, nodeStatusOf(input({ fault: 'down' }), first))).toBe(true)
    expect(reportDueIn({ isNews: true, lastReportMs: 0, nowMs: 1 })).toBe(0)
    expect(reportDueIn({ isNews: false, lastReportMs: undefined, nowMs: 1 })).toBe(0)
    expect(reportDueIn({ isNews: false, lastReportMs: 1000, nowMs: 61_000 })).toBe(240_000)
    expect(reportDueIn({ isNews: false, lastReportMs: 0, nowMs: 300_000 })).toBe(0)
  })
})

describe('pressure', () => {
  const room = {
    memoryAvailableBytes: 200 * 2 ** 20,
    diskAvailableBytes: 8,
    diskTotalBytes: 100,
    processesAvailable: 50,
    processesTotal: 1000,
  }

  test('exists when less is left than a threshold keeps', () => {
    const thresholds = parseEvictionThresholds(
      'memory.available<100Mi, nodefs.available<10%,pid.available<40',
    )
    expect(pressureOf(thresholds, room, 2 ** 33)).toEqual({
      memory: false,
      disk: true,
      processes: false,
    })
    expect(pressureOf(parseEvictionThresholds('memory.available<50%'), room, 2 ** 33).memory).toBe(
      true,
    )
  })

  test('thresholds that cannot be read are refused by name', () => {
    expect(() => parseEvictionThresholds('disk<1')).toThrow('unknown eviction signal "disk"')
    expect(() => parseEvictionThresholds('pid.available<many')).toThrow('pid.available<many')
  })
})

describe('labels and taints', () => {
  test('[NODE-019] every node has the labels of architecture, host name and system', () => {
    const labels = nodeLabels(dialects.kubernetes, host, { nodeName: 'n1', labels: {} })
    expect(labels).toMatchObject({
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/hostname': 'n1',
      'kubernetes.io/os': 'linux',
    })
    const svc = nodeLabels(dialects.svc, host, { nodeName: 'n1', labels: {} })
    expect(svc).toMatchObject({
      'svc.io/arch': 'amd64',
      'svc.io/hostname': 'n1',
      'svc.io/os': 'linux',
    })
  })

  test('[NODE-020] topology and instance type are there only when they were given', () => {
    const given = {
      'node.kubernetes.io/instance-type': 'm1',
      'topology.kubernetes.io/region': 'r',
      'topology.kubernetes.io/zone': 'z',
    }
    const keys = (labels: Record<string, string>): string[] =>
      Object.keys(labels).filter((key) => /instance-type|topology/.test(key))
    const of = (labels: Record<string, string>) =>
      nodeLabels(dialects.kubernetes, host, { nodeName: 'n1', labels })
    expect(keys(of({}))).toEqual([])
    expect(keys(of(given))).toEqual(Object.keys(given))
  })

  test('[NODE-021] two environments give the preset labels different values', () => {
    const elsewhere = { ...host, architecture: 'arm64', operatingSystem: 'darwin' }
    const here = nodeLabels(dialects.kubernetes, host, { nodeName: 'n1', labels: {} })
    const there = nodeLabels(dialects.kubernetes, elsewhere, { nodeName: 'n2', labels: {} })
    expect(Object.keys(there)).toEqual(Object.keys(here))
    for (const key of ['arch', 'os', 'hostname']) {
      expect(there[`kubernetes.io/${key}`]).not.toBe(here[`kubernetes.io/${key}`])
    }
  })

  test('taints are read as upstream writes them', () => {
    expect(parseTaint('a=b:NoSchedule')).toEqual({ key: 'a', value: 'b', effect: 'NoSchedule' })
    expect(parseTaint('x.io/a:NoExecute')).toEqual({ key: 'x.io/a', effect: 'NoExecute' })
    expect(() => parseTaint('a=b')).toThrow('invalid taint "a=b"')
  })
})
