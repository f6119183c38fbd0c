/** What a node takes, and what it does with pods that it does not. */
import { describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import type { Pod, PodSpec, PodStatus } from '../../../components/api/generated/types.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { PodAddresses } from '../../../components/node-agent/pods/pod-addresses.ts'
import { createPodAdmission } from '../../../components/node-agent/pods/pod-admission.ts'
import { createPodLoop } from '../../../components/node-agent/pods/pod-loop.ts'
import { SimulatedRuntime } from '../../../components/node-agent/runtime/simulated-runtime.ts'
import { podAnnotations } from '../../../components/api/simulation.ts'
import { parseUnsafeSysctls } from '../../../components/node-agent/pods/sysctl-allowlist.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { pod } from '../build.ts'

const allocatable = { cpu: '2', memory: '1Gi', pods: '3', 'example.com/gpu': '1' }
const admission = (allowedUnsafeSysctls: string[] = []) =>
  createPodAdmission({
    dialect: dialects.kubernetes,
    allocatable: () => allocatable,
    allowedUnsafeSysctls,
  })

const asking = (name: string, requests: Record<string, string>, more: Partial<PodSpec> = {}) =>
  pod(name, { containers: [{ name: 'main', image: 'a', resources: { requests } }], ...more })

describe('resources', () => {
  const others = [asking('other', { cpu: '1500m', memory: '512Mi' })]
  const reasonFor = (wanted: Pod, among: Pod[] = others) => admission()(wanted, among)

  test('that are left are given', () => {
    const wanted = asking('new', { cpu: '500m', memory: '512Mi', 'example.com/gpu': '1' })
    expect(reasonFor(wanted)).toBeUndefined()
  })

  test.each([
    ['cpu', '501m', 501, 1500, 2000],
    ['memory', '513Mi', 513 * 2 ** 20, 512 * 2 ** 20, 2 ** 30],
    ['example.com/gpu', '2', 2, 0, 1],
    ['ephemeral-storage', '1', 1, 0, 0],
  ])('%s that is not left is refused', (name, amount, requested, used, capacity) => {
    const numbers = `requested: ${requested}, used: ${used}, capacity: ${capacity}`
    expect(reasonFor(asking('new', { [name]: amount }))).toEqual({
      reason: `OutOf${name}`,
      message: `Node didn't have enough resource: ${name}, ${numbers}`,
    })
  })

  test('count with overhead and init containers', () => {
    const resources = { requests: { cpu: '501m' } }
    const initContainers = [{ name: 'setup', image: 'i', resources }]
    expect(reasonFor(asking('new', {}, { initContainers }))?.reason).toBe('OutOfcpu')
    expect(reasonFor(asking('new', {}, { overhead: { cpu: '501m' } }))?.reason).toBe('OutOfcpu')
  })

  test('of the cluster, which no node has, are not counted', () => {
    expect(reasonFor(asking('new', { 'example.com/licence': '9' }))).toBeUndefined()
  })

  test('are not short for a pod that asks for none, but places may be', () => {
    const full = [asking('other', { cpu: '5' })]
    expect(reasonFor(pod('new'), full)).toBeUndefined()
    expect(reasonFor(pod('new'), [pod('a'), pod('b'), pod('c')])).toEqual({
      reason: 'OutOfpods',
      message: "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
    })
  })
})

describe('sysctls', () => {
  const withSysctl = (name: string, more: Partial<PodSpec> = {}) =>
    pod('web', { securityContext: { sysctls: [{ name, value: '1' }] }, ...more })
  const messageFor = (wanted: Pod, unsafe: string[] = []) =>
    admission(parseUnsafeSysctls(unsafe))(wanted, [])?.message

  test.each(['kernel.shm_rmid_forced', 'net.ipv4.tcp_syncookies', 'net/ipv4/tcp_syncookies'])(
    '%s is safe',
    (name) => expect(messageFor(withSysctl(name))).toBeUndefined(),
  )

  test('that are unsafe need the node’s leave', () => {
    const wanted = withSysctl('net.core.somaxconn')
    expect(messageFor(wanted)).toBe('forbidden sysctl: "net.core.somaxconn" not allowlisted')
    expect(messageFor(wanted, ['net.core.somaxconn'])).toBeUndefined()
    expect(messageFor(wanted, ['net.core.*'])).toBeUndefined()
    expect(messageFor(wanted, ['kernel.msg*'])).toContain('not allowlisted')
  })

  test('of a namespace that the pod shares with its host are refused', () => {
    expect(messageFor(withSysctl('net.ipv4.tcp_syncookies', { hostNetwork: true }))).toBe(
      'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host net enabled',
    )
    expect(messageFor(withSysctl('kernel.shm_rmid_forced', { hostIPC: true }))).toBe(
      'forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host ipc enabled',
    )
  })

  test.each([
    ['vm.swappiness', 'the sysctl "vm.swappiness" is not known to be namespaced'],
    ['Net.x', '"Net.x" is not the name of a sysctl'],
  ])('%s cannot be allowed', (name, message) => {
    expect(() => parseUnsafeSysctls([name])).toThrow(message)
  })
})

/** The pods of one node, with what was reported of each last. */
function startNode() {
  const clock = new FakeClock()
  const statuses = new Map<string, PodStatus>()
  const deleted: (string | undefined)[] = []
  const loop = createPodLoop({
    runtime: new SimulatedRuntime({ clock, version: 'test', writeCheckpoint: async () => {} }),
    addresses: new PodAddresses('10.1.0.0/24'),
    hostIp: '127.0.0.1',
    admit: admission(),
    onProbe: () => {},
    environment: async () => ({}),
    volumes: { needsCheck: () => false, check: async () => [] },
    record: () => {},
    writeStatus: async (pod, status) => {
      statuses.set(pod.metadata.name ?? '', status)
      return pod
    },
    deletePod: async ({ metadata }) => void deleted.push(metadata.name),
    clock,
    log: silentLog,
  })
  const add = (...added: Pod[]) => {
    for (const object of added) loop.onEvent({ type: 'add', object })
    return settle()
  }
  const outcome = (name: string) => {
    const { phase, reason } = statuses.get(name) ?? {}
    return reason ?? phase
  }
  return { clock, loop, add, outcome, statuses, deleted }
}

describe('a node', () => {
  test('gives room to whoever comes first, and again when that has ended', async () => {
    const node = startNode()
    const first = asking('first', { cpu: '2' }, { restartPolicy: 'Never' })
    first.metadata.annotations = { [podAnnotations.exitAfter]: '5s' }
    await node.add(first, asking('second', { cpu: '1' }))
    expect([node.outcome('first'), node.outcome('second')]).toEqual(['Running', 'OutOfcpu'])
    await node.clock.step(6000)
    await node.add(asking('third', { cpu: '2' }))
    expect(node.outcome('third')).toBe('Running')
  })

  test('goes on with the pods that it had before the agent was restarted, and counts them', async () => {
    const before = startNode()
    await before.add(asking('old', { cpu: '2' }))
    const node = startNode()
    const old = { ...asking('old', { cpu: '2' }), status: before.statuses.get('old') ?? {} }
    const beyond = {
      ...asking('beyond', { cpu: '2' }),
      status: { startTime: '2025-01-01T00:00:00Z' },
    }
    await node.add(asking('new', { cpu: '1' }), old, beyond)
    expect(['old', 'beyond', 'new'].map(node.outcome)).toEqual(['Running', 'Running', 'OutOfcpu'])
  })

  test('reports of a pod that it refused nothing but that, and removes it when it is deleted', async () => {
    const node = startNode()
    const refused = asking('refused', { cpu: '3' })
    await node.add(refused)
    expect(node.statuses.get('refused')).toEqual({
      phase: 'Failed',
      reason: 'OutOfcpu',
      message: expect.stringMatching(/^Pod was rejected: /) as string,
      startTime: '2025-01-01T00:00:00Z',
    })
    const metadata = { ...refused.metadata, deletionTimestamp: '2025-01-01T00:00:30Z' }
    node.loop.onEvent({ type: 'update', old: refused, object: { ...refused, metadata } })
    await settle()
    expect(node.deleted).toEqual(['refused'])
  })
})
