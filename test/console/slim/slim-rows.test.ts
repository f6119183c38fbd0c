/** Slim rows: what of a Node, Lease, Pod and Event reaches the screen. */
import { describe, expect, it } from 'vitest'
import { slimEvent } from '../../../console/slim/slim-event.ts'
import { slimLease, slimNode } from '../../../console/slim/slim-node.ts'
import { slimPod } from '../../../console/slim/slim-pod.ts'
import type { Node, Pod } from '../../../components/api/generated/types.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'

const condition = (type: string, status: string) => ({ type, status })

describe('slimNode', () => {
  const node: Node = {
    metadata: { name: 'n1', uid: 'u1' },
    spec: {
      unschedulable: true,
      taints: [
        { key: 'a', value: 'b', effect: 'NoSchedule' },
        { key: 'c', effect: 'NoExecute' },
      ],
    },
    status: {
      allocatable: { cpu: '1500m', memory: '2Ki', pods: '110' },
      conditions: [
        condition('Ready', 'True'),
        condition('MemoryPressure', 'True'),
        condition('DiskPressure', 'False'),
        condition('PIDPressure', 'Unknown'),
      ],
    },
  }

  it('has room in thousandths of a core and bytes, taints as text, and the conditions that are bad news', () => {
    expect(slimNode(node)).toEqual({
      name: 'n1',
      uid: 'u1',
      ready: 'True',
      trouble: ['MemoryPressure', 'PIDPressure'],
      taints: ['a=b:NoSchedule', 'c:NoExecute'],
      unschedulable: true,
      maxPods: 110,
      cpuMilli: 1500,
      memoryBytes: 2048,
    })
  })

  it('is Unknown with no room before the agent has reported', () => {
    expect(slimNode({ metadata: { name: 'n1' } })).toMatchObject({
      ready: 'Unknown',
      trouble: [],
      maxPods: 0,
      cpuMilli: 0,
      memoryBytes: 0,
    })
  })

  it('takes the heartbeat from its Lease', () => {
    const spec = { renewTime: '2026-11-22T12:00:00.500000Z', leaseDurationSeconds: 40 }
    const lease = slimLease({ spec })
    expect(lease).toEqual({ renewedMs: Date.parse('2026-11-22T12:00:00.500Z'), leaseMs: 40_000 })
    expect(slimNode(node, lease)).toMatchObject(lease)
    expect(slimLease({})).toEqual({})
  })
})

describe('slimPod', () => {
  const pod = (status: object, metadata: object = {}): Pod =>
    ({
      metadata: { namespace: 'shop', name: 'web', uid: 'u', ...metadata },
      spec: { nodeName: 'n1', containers: [{ name: 'app' }] },
      status,
    }) as Pod

  it('shows the status word of kubectl, restarts and the controlling owner', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'r' }
    const waiting = { waiting: { reason: 'CrashLoopBackOff' } }
    const crashing = pod(
      {
        phase: 'Running',
        conditions: [condition('Ready', 'False')],
        containerStatuses: [{ name: 'app', ready: false, restartCount: 4, state: waiting }],
      },
      {
        ownerReferences: [
          { ...owner, kind: 'Other' },
          { ...owner, controller: true },
        ],
      },
    )
    expect(slimPod(crashing)).toEqual({
      key: 'shop/web',
      uid: 'u',
      node: 'n1',
      status: 'CrashLoopBackOff',
      ready: false,
      restarts: 4,
      owner: 'ReplicaSet/web-1',
    })
  })

  it('is ready by its condition, and Terminating once it is deleted', () => {
    const ready = { phase: 'Running', conditions: [condition('Ready', 'True')] }
    expect(slimPod(pod(ready)).ready).toBe(true)
    const deleted = slimPod(pod(ready, { deletionTimestamp: '2026-11-22T12:00:00Z' }))
    expect(deleted.status).toBe('Terminating')
  })

  it('has no node before it is bound', () => {
    expect(slimPod({ metadata: { name: 'a', namespace: 'b' } })).toMatchObject({
      node: '',
      status: '',
      ready: false,
      restarts: 0,
    })
  })
})

describe('slimEvent', () => {
  const core: KubeObject = {
    metadata: { namespace: 'shop', name: 'e1' },
    involvedObject: { kind: 'Pod', namespace: 'shop', name: 'web' },
    type: 'Warning',
    reason: 'BackOff',
    message: 'restarting \n',
    lastTimestamp: '2026-11-22T12:00:00Z',
    count: 3,
  }

  it('reads the form of the core group', () => {
    expect(slimEvent(core)).toEqual({
      key: 'shop/e1',
      atMs: Date.parse('2026-11-22T12:00:00Z'),
      type: 'Warning',
      reason: 'BackOff',
      regarding: 'Pod shop/web',
      message: 'restarting',
      count: 3,
    })
  })

  it('reads the form of the group events, and the time of a series', () => {
    const event: KubeObject = {
      metadata: { name: 'e2' },
      regarding: { kind: 'Node', name: 'n1' },
      note: 'hello',
      eventTime: '2026-11-22T12:00:00Z',
      series: { count: 7, lastObservedTime: '2026-11-22T12:05:00Z' },
    }
    expect(slimEvent(event)).toMatchObject({
      atMs: Date.parse('2026-11-22T12:05:00Z'),
      regarding: 'Node n1',
      message: 'hello',
      count: 7,
    })
  })

  it('cuts a long message', () => {
    const { message } = slimEvent({ ...core, message: 'x'.repeat(1000) })
    expect(message).toBe(`${'x'.repeat(300)}…`)
  })
})
