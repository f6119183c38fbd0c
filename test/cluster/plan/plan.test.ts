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
