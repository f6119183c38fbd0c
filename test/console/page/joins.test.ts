/** Nodes that join: what the page makes of the journal, certificate requests and nodes. */
import { describe, expect, test } from 'vitest'
import type { RequestRecord } from '../../../components/api/request-record.ts'
import { joinsOf, type Join } from '../../../console/page/views/join/joins.ts'
import type { SlimCsr } from '../../../console/protocol/lab.ts'
import type { SlimNode } from '../../../console/protocol/live.ts'

const startMs = 1_000_000
let seq = 0

function record(afterMs: number, more: Partial<RequestRecord>): RequestRecord {
  seq += 1
  return {
    ...{
      seq,
      id: `${seq}`,
      atMs: startMs + afterMs,
      durationMs: 1,
      user: '',
      userAgent: 'kubelet',
    },
    ...{
      verb: 'get',
      group: '',
      resource: '',
      subresource: '',
      namespace: '',
      name: '',
      path: '/',
    },
    status: 200,
    ...more,
  }
}

const csrs = 'certificatesigningrequests'
const bootstrap = { user: 'system:bootstrap:abcdef', authenticator: 'bootstrap-token' }
const discovery = (afterMs: number, more: Partial<RequestRecord> = {}) =>
  record(afterMs, {
    user: 'system:anonymous',
    resource: 'configmaps',
    name: 'cluster-info',
    ...more,
  })
const created = (afterMs: number, more: Partial<RequestRecord> = {}) =>
  record(afterMs, {
    ...bootstrap,
    verb: 'create',
    resource: csrs,
    name: 'csr-1',
    status: 201,
    ...more,
  })

const pending: SlimCsr = {
  ...{ name: 'csr-1', user: bootstrap.user, signer: 'client', node: 'node-1' },
  ...{ createdMs: startMs, hasCertificate: false },
}
const approved: SlimCsr = {
  ...pending,
  verdict: { type: 'Approved', text: 'AutoApproved', atMs: startMs + 20 },
}
const issued: SlimCsr = { ...approved, hasCertificate: true, expiresMs: startMs + 3_600_000 }
const node: SlimNode = {
  ...{ name: 'node-1', uid: 'u', ready: 'True', trouble: [], taints: [], unschedulable: false },
  ...{ maxPods: 110, cpuMilli: 1000, memoryBytes: 1, renewedMs: startMs + 100, leaseMs: 40_000 },
}
const nodes = new Map([['node-1', node]])
const none = new Map<string, SlimNode>()

const states = (join: Join | undefined): string =>
  (join?.steps ?? []).map(({ id, state }) => `${id}:${state}`).join(' ')
const textOf = (join: Join | undefined, id: string): string =>
  join?.steps.find((step) => step.id === id)?.text ?? ''

describe('joins', () => {
  test('a node that has joined has all its steps, but for those that only its agent sees', () => {
    const records = [
      discovery(0),
      created(10),
      record(30, { verb: 'update', resource: csrs, subresource: 'status', name: 'csr-1' }),
      record(40, { user: 'system:node:node-1', verb: 'create', resource: 'nodes', name: 'node-1' }),
      record(50, { user: 'system:node:node-1', verb: 'create', resource: 'leases' }),
    ]
    const [join, ...others] = joinsOf(records, [issued], nodes, startMs + 100)
    expect(others).toEqual([])
    expect(join).toMatchObject({ node: 'node-1', tokenId: 'abcdef', outcome: 'joined' })
    expect(states(join)).toBe(
      'cluster-info:done trust:unseen token:done csr:done approval:done certificate:done node:done lease:done',
    )
    expect(join?.steps.map(({ atMs }) => atMs && atMs - startMs)).toEqual([
      0,
      undefined,
      10,
      10,
      20,
      30,
      40,
      50,
    ])
  })

  test('a request without approval waits, says how to approve it, and has stopped after a while', () => {
    const records = [discovery(0), created(10)]
    const [early] = joinsOf(records, [pending], none, startMs + 1000)
    expect(early?.outcome).toBe('joining')
    expect(states(early)).toContain('approval:waiting certificate:later node:later lease:later')
    expect(textOf(early, 'approval')).toContain('kubectl certificate approve csr-1')
    expect(joinsOf(records, [pending], none, startMs + 60_000)[0]?.outcome).toBe('stopped')
  })

  test('a denied request shows who said so', () => {
    const verdict = { type: 'Denied', text: 'Unknown: not my machine', atMs: startMs + 20 }
    const [join] = joinsOf([created(10)], [{ ...pending, verdict }], none, startMs + 30)
    expect(join?.outcome).toBe('stopped')
    expect(states(join)).toContain('approval:failed certificate:later')
    expect(textOf(join, 'approval')).toBe('Denied: Unknown: not my machine')
  })

  test('an approved request waits for its signature', () => {
    const [join] = joinsOf([created(10)], [approved], none, startMs + 30)
    expect(states(join)).toContain('approval:done certificate:waiting')
    expect(textOf(join, 'certificate')).toContain('csrsigning')
  })

  test('a token that is not accepted stops at the token, however often it is tried', () => {
    const refused = { user: '', name: '', status: 401, message: 'Unauthorized' }
    const records = [discovery(0), created(10, refused), created(500, refused)]
    const [join, ...others] = joinsOf(records, [], none, startMs + 600)
    expect(others).toEqual([])
    expect(join).toMatchObject({ node: undefined, tokenId: '', outcome: 'stopped' })
    expect(states(join)).toContain('cluster-info:done trust:unseen token:failed csr:later')
    expect(textOf(join, 'token')).toContain('401: Unauthorized (2 times)')
  })

  test('a token without the right to request certificates stops at the request', () => {
    const refused = { name: '', status: 403, message: 'User cannot create' }
    const [join] = joinsOf([created(10, refused)], [], none, startMs + 600)
    expect(join).toMatchObject({ tokenId: 'abcdef', outcome: 'stopped' })
    expect(states(join)).toContain('token:done csr:failed approval:later')
    expect(textOf(join, 'csr')).toContain('User cannot create')
  })

  test('an agent that only reads cluster-info is waiting, then stopped by a signature or pin', () => {
    const records = [discovery(0), discovery(1000)]
    expect(states(joinsOf(records, [], none, startMs + 2000)[0])).toContain(
      'cluster-info:done trust:waiting token:later',
    )
    const [later] = joinsOf(records, [], none, startMs + 60_000)
    expect(later?.outcome).toBe('stopped')
    expect(textOf(later, 'trust')).toContain('CA pin')
  })

  test('a refused read of cluster-info shows the message', () => {
    const refused = { status: 403, message: 'anonymous cannot get' }
    const [join] = joinsOf([discovery(0, refused)], [], none, startMs + 10)
    expect(join?.steps[0]).toMatchObject({ state: 'failed', text: 'anonymous cannot get' })
  })

  test('each request takes the reads before it, and requests that no token made are left out', () => {
    const records = [
      discovery(0),
      created(10),
      discovery(20),
      discovery(25),
      created(30, { name: 'csr-2' }),
    ]
    const second = { ...pending, name: 'csr-2', node: 'node-2' }
    const renewal = { ...issued, name: 'csr-3', user: 'system:node:node-1' }
    const joins = joinsOf(records, [pending, second, renewal], none, startMs + 100)
    expect(joins.map((join) => `${join.node}: ${textOf(join, 'cluster-info')}`)).toEqual([
      'node-2: read without a credential, 2 times, by kubelet',
      'node-1: read without a credential, once, by kubelet',
    ])
  })

  test('other readers of cluster-info are told apart by their user agents, and are no part of a join', () => {
    const told = joinsOf(
      [
        discovery(0, { userAgent: 'curl/8' }),
        discovery(5),
        discovery(6, { userAgent: 'probe/1' }),
        created(10),
      ],
      [pending],
      new Map(),
      startMs + 60_000,
    )
    const reads = told.map(({ node, steps }) => `${node}: ${steps[0]?.text}`)
    expect(reads).toEqual([
      'undefined: read without a credential, once, by probe/1',
      'node-1: read without a credential, once, by kubelet',
      'undefined: read without a credential, once, by curl/8',
    ])
  })

  test('a join takes the reads of another program that requests no certificate, such as kubeadm', () => {
    const reads = [discovery(0, { userAgent: 'kubeadm/v1' })]
    const [join, ...others] = joinsOf([...reads, created(10)], [pending], new Map(), startMs + 20)
    expect(join?.steps[0]?.text).toBe('read without a credential, once, by kubeadm/v1')
    expect(others).toEqual([])
  })

  test('without a journal, certificate requests and nodes still tell most of it', () => {
    const [join] = joinsOf([], [issued], nodes, startMs + 100)
    expect(join?.outcome).toBe('joined')
    expect(states(join)).toContain('cluster-info:unseen')
  })
})
