/** kubectl top: what nodes and pods use by their annotations, through the API, for those who may read it. */
import { beforeAll, describe, expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { kubectlFor, requireKubectl, tableOf } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()

const pod = (name: string, annotations: Record<string, string>): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name }, annotations },
    spec: {
      containers: [
        { name: 'main', image: 'example.com/app:1' },
        { name: 'helper', image: 'example.com/app:1' },
      ],
    },
  })

describe('top', () => {
  let kubectl: Kubectl

  beforeAll(async () => {
    kubectl = await kubectlFor(await sharedCluster(), { path, namespace: 'top' })
    await kubectl.withInput(
      pod('busy', { 'skiff.dev/cpu-usage.main': '250m', 'skiff.dev/memory-usage': '64Mi' }),
    ).ok`create -f -`
    await kubectl.withInput(pod('idle', {})).ok`create -f -`
    await kubectl.ok`wait --for=condition=Ready pod/busy pod/idle --timeout=120s`
    await eventually(() => kubectl.ok`top pod busy`)
  })

  test('top pod shows the sum of the containers, and each of them', async () => {
    const rows = await eventually(async () => {
      const all = tableOf(await kubectl.ok`top pod`)
      expect(all).toHaveLength(2)
      return all
    })
    expect(rows).toEqual([
      { NAME: 'busy', 'CPU(cores)': '251m', 'MEMORY(bytes)': '128Mi' },
      { NAME: 'idle', 'CPU(cores)': '2m', 'MEMORY(bytes)': '16Mi' },
    ])
    expect(tableOf(await kubectl.ok`top pod busy --containers`)).toEqual([
      { POD: 'busy', NAME: 'helper', 'CPU(cores)': '1m', 'MEMORY(bytes)': '64Mi' },
      { POD: 'busy', NAME: 'main', 'CPU(cores)': '250m', 'MEMORY(bytes)': '64Mi' },
    ])
    expect(tableOf(await kubectl.ok`top pod -l app=idle`)).toHaveLength(1)
  })

  test('top node shows the pods of the node and its own part', async () => {
    const name = (await kubectl.ok`get pod busy -o jsonpath={.spec.nodeName}`).trim()
    const [row] = tableOf(await kubectl.ok`top node ${name}`)
    expect(Number.parseInt(row?.['CPU(cores)'] ?? '', 10)).toBeGreaterThanOrEqual(271)
    expect(Number.parseInt(row?.['MEMORY(bytes)'] ?? '', 10)).toBeGreaterThanOrEqual(228)
  })

  test('metrics are objects of a group that is served and can be listed, got and shown', async () => {
    expect(await kubectl.ok`get apiservice v1beta1.metrics.k8s.io -o name`).toContain('metrics')
    const [row] = tableOf(await kubectl.ok`get pods.metrics.k8s.io busy`)
    expect(row).toMatchObject({ NAME: 'busy', CPU: '251m', MEMORY: '128Mi', WINDOW: '10s' })
    const missing = await kubectl.fails`get pods.metrics.k8s.io missing`
    expect(missing.stderr).toContain(
      'Error from server (NotFound): podmetrics.metrics.k8s.io "top/missing" not found',
    )
    expect((await kubectl.fails`delete pods.metrics.k8s.io busy`).stderr).toContain(
      'MethodNotAllowed',
    )
  })

  test('who may view may read the metrics of pods', async () => {
    const can = (user: string) =>
      kubectl.try`auth can-i list pods.metrics.k8s.io --as ${user}`.then(({ stdout }) =>
        stdout.trim(),
      )
    expect(await can('viewer-of-top')).toBe('no')
    await kubectl.ok`create rolebinding viewer --clusterrole=view --user=viewer-of-top`
    await eventually(async () => expect(await can('viewer-of-top')).toBe('yes'))
  })
})
