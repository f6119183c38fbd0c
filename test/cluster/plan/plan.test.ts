/** Plan: the whole of it as text, compared with a stored one; UPDATE_CASES=1 writes it anew. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ClusterConfig } from '../../../cluster/plan/cluster-config.ts'
import { planCluster, startOrder } from '../../../cluster/plan/plan.ts'
import type { ComponentSpec } from '../../../cluster/plan/component-spec.ts'
import { pathsIn } from '../../../cluster/state/state-dir.ts'

const paths = pathsIn('/state')

const config: ClusterConfig = {
  name: 'lab',
  id: 'id',
  dialect: 'kubernetes',
  address: '127.0.0.1',
  port: 6443,
  serviceRange: '10.96.0.0/16',
  caHash: 'sha256:00ff',
  nodes: [{ name: 'node-1' }, { name: 'crowd', simulated: 500 }],
  extraFlags: {
    'controller-manager': { 'node-monitor-grace-period': '4s', 'leader-elect': 'false' },
  },
}

test('the plan of a cluster is the stored one', () => {
  const file = join(import.meta.dirname, '..', '..', 'cases', 'cluster', 'plan.json')
  const text = `${JSON.stringify(planCluster(config, paths), null, 2)}\n`
  if (process.env['UPDATE_CASES'] !== undefined) writeFileSync(file, text)
  expect(text).toBe(readFileSync(file, 'utf8'))
})

test('flags the user adds win over those of the plan', () => {
  const args = planCluster(config, paths).find((spec) => spec.name === 'controller-manager')?.args
  expect(args).toContain('--node-monitor-grace-period=4s')
  expect(args).toContain('--leader-elect=false')
  expect(args).not.toContain('--leader-elect=true')
})

test('an authorization file takes the place of the plan’s modes, and stands beside none but the user’s', () => {
  const argsWith = (flags: Record<string, string>) =>
    planCluster({ ...config, extraFlags: { 'api-server': flags } }, paths).find(
      ({ name }) => name === 'api-server',
    )?.args ?? []
  const file = { 'authorization-config': '/a.yaml' }
  expect(argsWith({})).toContain('--authorization-mode=Node,RBAC')
  expect(argsWith(file).join(' ')).not.toContain('--authorization-mode')
  expect(argsWith({ ...file, 'authorization-mode': 'RBAC' })).toContain('--authorization-mode=RBAC')
})

test('the API server starts first, then everything else at once', () => {
  const steps = startOrder(planCluster(config, paths)).map((step) => step.map((spec) => spec.name))
  expect(steps).toEqual([['api-server'], ['controller-manager', 'scheduler', 'node-1', 'crowd']])
})

test('components that wait for each other are refused', () => {
  const spec = (name: string, dependsOn: string[]): ComponentSpec => ({
    name,
    program: 'scheduler',
    nodeOptions: [],
    args: [],
    files: [],
    folders: [],
    certificates: [],
    dependsOn,
  })
  expect(() => startOrder([spec('a', ['b']), spec('b', ['a'])])).toThrow(
    'wait for each other: a, b',
  )
})

test('an IPv6 address stands in brackets in the URL the agents get', () => {
  const args = planCluster({ ...config, address: '::1' }, paths).at(-1)?.args
  expect(args).toContain('--server=https://[::1]:6443')
})

const highlyAvailable: ClusterConfig = {
  ...config,
  nodes: [{ name: 'node-1' }],
  extraFlags: { etcd: { 'quota-backend-bytes': '1000000' } },
  etcd: {
    servers: ['https://127.0.0.1:1001', 'https://127.0.0.1:1003', 'https://127.0.0.1:1005'],
    own: {
      binary: '/usr/bin/etcd',
      members: [1, 2, 3].map((at) => ({
        name: `etcd-${at}`,
        clientPort: 999 + 2 * at,
        peerPort: 1000 + 2 * at,
        metricsPort: 2000 + at,
      })),
    },
  },
  apiServers: [2, 3, 4].map((at) => ({ address: `127.0.0.${at}`, port: 6443 })),
  peers: ['192.0.2.7:6443'],
  schedulers: 2,
}

test('several API servers start after etcd, the load balancer after them, and the rest after it', () => {
  const specs = planCluster(highlyAvailable, paths)
  expect(startOrder(specs).map((step) => step.map((spec) => spec.name))).toEqual([
    ['etcd-1', 'etcd-2', 'etcd-3'],
    ['api-server-1', 'api-server-2', 'api-server-3'],
    ['load-balancer'],
    ['controller-manager', 'scheduler-1', 'scheduler-2', 'node-1'],
  ])
  const balancer = specs.find(({ name }) => name === 'load-balancer')
  expect(balancer?.args).toContain('--port=6443')
  expect(balancer?.files).toEqual([
    {
      kind: 'text',
      path: '/state/api-servers.txt',
      text: '127.0.0.2:6443\n127.0.0.3:6443\n127.0.0.4:6443\n192.0.2.7:6443\n',
    },
  ])
})

test('members of etcd ask each other and their clients for certificates, and know each other', () => {
  const specs = planCluster(highlyAvailable, paths)
  const member = specs.find(({ name }) => name === 'etcd-2')
  expect(member?.executable).toBe('/usr/bin/etcd')
  expect(member?.args).toEqual(
    expect.arrayContaining([
      '--client-cert-auth=true',
      '--peer-client-cert-auth=true',
      '--listen-client-urls=https://127.0.0.1:1003',
      '--initial-cluster=etcd-1=https://127.0.0.1:1002,etcd-2=https://127.0.0.1:1004,etcd-3=https://127.0.0.1:1006',
      '--quota-backend-bytes=1000000',
    ]),
  )
  const server = specs.find(({ name }) => name === 'api-server-2')
  expect(server?.args).toEqual(
    expect.arrayContaining([
      '--bind-address=127.0.0.3',
      '--etcd-servers=https://127.0.0.1:1001,https://127.0.0.1:1003,https://127.0.0.1:1005',
      '--etcd-cafile=/state/pki/etcd/ca.crt',
      '--etcd-certfile=/state/pki/apiserver-etcd-client.crt',
    ]),
  )
  expect(server?.args.join(' ')).not.toContain('--store=')
})

test('an existing etcd is only named to the API servers', () => {
  const etcd = { servers: ['http://192.0.2.1:2379'], files: { caFile: '/ca.crt' } }
  const specs = planCluster({ ...config, etcd }, paths)
  expect(specs.map(({ program }) => program)).not.toContain('etcd')
  const args = specs.find(({ name }) => name === 'api-server')?.args.join(' ')
  expect(args).toContain('--etcd-servers=http://192.0.2.1:2379 --etcd-cafile=/ca.crt')
  expect(args).not.toContain('--etcd-certfile')
})
