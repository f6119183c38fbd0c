/** helm: install, upgrade, rollback, hooks, tests, dry runs and what it says when something is refused. */
import { join } from 'node:path'
import { beforeAll, describe, expect } from 'vitest'
import { helmWith, requireHelm } from './helm.ts'
import type { Helm } from './helm.ts'
import { kubectlFor, requireKubectl } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import { sharedCluster } from './shared-cluster.ts'

const chart = join(import.meta.dirname, 'chart')
const { path: kubectlPath, test: kubectlTest } = requireKubectl()
const { path, test: helmTest } = requireHelm()
const test = kubectlTest === kubectlTest.skip ? kubectlTest.skip : helmTest

interface Release {
  readonly name: string
  readonly revision: string
  readonly status: string
}

describe('helm', () => {
  let kubectl: Kubectl
  let helm: Helm

  beforeAll(async () => {
    kubectl = await kubectlFor(await sharedCluster(), { path: kubectlPath, namespace: 'helm' })
    helm = helmWith(path, kubectl.env)
  })

  /** Runs a command that must succeed. */
  async function ok(...words: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await helm(...words)
    if (code !== 0) throw new Error(`helm ${words.join(' ')}: ${code}\n${stdout}\n${stderr}`)
    return stdout
  }
  const history = async (release: string): Promise<string[]> => {
    const text = await ok('history', release, '-o', 'json')
    return (JSON.parse(text) as Release[]).map(({ revision, status }) => `${revision} ${status}`)
  }

  test('installs a chart and waits for it, upgrades, rolls back, tests and uninstalls it', async () => {
    await ok('install', 'shop', chart, '--wait', '--set', 'size=large')
    expect(JSON.parse(await ok('list', '-o', 'json'))).toMatchObject([
      { name: 'shop', revision: '1', status: 'deployed', chart: 'shop-0.1.0' },
    ])
    const made = await kubectl.json`get deployment shop -o json`
    expect(made.status).toMatchObject({ readyReplicas: 1, updatedReplicas: 1 })
    expect(made.metadata.labels['app.kubernetes.io/managed-by']).toBe('Helm')
    const kinds = 'svc,pdb,ingress,cm,secret,sa,role,rolebinding,sizes.shop.example.com'
    expect((await kubectl.ok`get ${kinds} -o name`).split('\n')).toEqual(
      expect.arrayContaining([
        'service/shop',
        'poddisruptionbudget.policy/shop',
        'ingress.networking.k8s.io/shop',
        'configmap/shop',
        'configmap/shop-before',
        'secret/sh.helm.release.v1.shop.v1',
        'secret/shop',
        'serviceaccount/shop',
        'role.rbac.authorization.k8s.io/shop',
        'rolebinding.rbac.authorization.k8s.io/shop',
        'size.shop.example.com/shop',
      ]),
    )
    expect(await kubectl.ok`get size shop -o jsonpath={.spec.of}`).toBe('large')
    expect(await kubectl.ok`get cm shop -o jsonpath={.data.budgets}`).toBe('yes')
    const password = await kubectl.ok`get secret shop -o jsonpath={.data.password}`

    await ok('upgrade', 'shop', chart, '--wait', '--set', 'replicas=3,greeting=hi')
    expect(await kubectl.ok`get deployment shop -o jsonpath={.status.readyReplicas}`).toBe('3')
    expect(await kubectl.ok`get cm shop -o jsonpath={.data.greeting}`).toBe('hi')
    expect(await kubectl.ok`get size shop -o jsonpath={.spec.of}`).toBe('small')
    expect(await kubectl.ok`get secret shop -o jsonpath={.data.password}`).toBe(password)
    expect(await kubectl.ok`get cm shop-before -o jsonpath={.data.revision}`).toBe('2')

    expect(await ok('rollback', 'shop', '1', '--wait')).toContain('Rollback was a success')
    expect(await kubectl.ok`get deployment shop -o jsonpath={.spec.replicas}`).toBe('1')
    expect(await kubectl.ok`get size shop -o jsonpath={.spec.of}`).toBe('large')
    expect(await history('shop')).toEqual(['1 superseded', '2 superseded', '3 deployed'])

    const tested = await ok('test', 'shop', '--logs')
    expect(tested).toMatch(/Phase:\s+Succeeded/)
    expect(tested).toMatch(/POD LOGS: shop-test\ntested\n/)

    await ok('uninstall', 'shop', '--wait')
    expect(await ok('list', '--all', '--short')).toBe('')
    expect(
      await kubectl.ok`get deploy,rs,svc,pdb,ingress,role,sizes.shop.example.com -o name`,
    ).toBe('')
    expect(await kubectl.ok`get crd sizes.shop.example.com -o name`).toContain('sizes.shop')
  })

  test('takes a refused upgrade back when it is to be atomic', async () => {
    await ok('install', 'refused', chart, '--wait')
    const { code, stderr } = await helm(
      ...['upgrade', 'refused', chart, '--atomic', '--set', 'size=huge,greeting=late'],
    )
    expect(code).toBe(1)
    expect(stderr).toContain('has been rolled back due to atomic being set')
    expect(stderr).toContain('Unsupported value: "huge": supported values: "small", "large"')
    expect(await kubectl.ok`get cm refused -o jsonpath={.data.greeting}`).toBe('hello')
    expect(await history('refused')).toEqual(['1 superseded', '2 failed', '3 deployed'])
    await ok('uninstall', 'refused')
  })

  test('renders against the server and dry-runs without a trace', async () => {
    await ok('upgrade', '--install', 'dry', chart, '--dry-run=server', '--hide-notes')
    expect(
      await ok('template', 'dry', chart, '--validate', '--set', 'greeting=rendered'),
    ).toContain('greeting: "rendered"')
    expect(await kubectl.ok`get cm,deploy,sa -l app.kubernetes.io/managed-by=Helm -o name`).toBe('')
    expect(await kubectl.ok`get cm dry --ignore-not-found -o name`).toBe('')
  })

  test('makes a namespace, and says what it may not do', async () => {
    const there = ['--namespace', 'helm-made']
    await ok('install', 'made', chart, '--create-namespace', '--wait', ...there)
    const second = await helm('install', 'made', chart, ...there)
    expect(second.stderr).toContain('cannot re-use a name that is still in use')
    const stranger = await helm('list', '--kube-as-user', 'stranger', ...there)
    expect(stranger.code).toBe(1)
    expect(stranger.stderr).toContain(
      'secrets is forbidden: User "stranger" cannot list resource "secrets" in API group "" in the namespace "helm-made"',
    )
    await ok('uninstall', 'made', ...there)
    await kubectl.ok`delete namespace helm-made`
  })
})
