/** kubectl on nodes: described, cordoned, drained, tainted, labelled. The cluster is their own: what happens to a node happens to all of its pods. */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { builtOnce } from './built.ts'
import { kubectlFor, requireKubectl, tableOf } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import { createPlace } from './place.ts'

const { path, test } = requireKubectl()
const node = 'drained'

/** A pod that only this node's label attracts, and that its taint does not keep away. */
function podOn(name: string, more: object = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': node },
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'example.com/app:1' }],
      ...more,
    },
  })
}

describe('nodes', () => {
  let kubectl: Kubectl

  const place = createPlace()

  beforeAll(async () => {
    await builtOnce()
    const cluster = place.cluster('nodes')
    await cluster.skiff('up', '--nodes', '1')
    await cluster.skiff('node', 'add', node)
    kubectl = await kubectlFor(cluster, { path, namespace: 'nodes' })
  })

  afterAll(() => place[Symbol.asyncDispose]())

  const status = async () => tableOf(await kubectl.ok`get node ${node}`)[0]?.['STATUS']

  test('describe node shows its addresses, capacity, conditions, system and pods', async () => {
    await kubectl.withInput(podOn('described')).ok`create -f -`
    await kubectl.ok`wait --for=condition=Ready pod/described --timeout=60s`
    // A node may be Ready before its first heartbeat.
    await eventually(() => kubectl.ok`get lease ${node} -n kube-node-lease`)
    const text = await kubectl.ok`describe node ${node}`
    expect(text).toMatch(/^Name: +drained$/m)
    expect(text).toMatch(/^Roles: +<none>$/m)
    expect(text).toMatch(/kubernetes\.io\/hostname=drained$/m)
    expect(text).toMatch(/^Taints: +<none>$/m)
    expect(text).toMatch(/^Unschedulable: +false$/m)
    expect(text).toMatch(/^ +HolderIdentity: +drained$/m)
    expect(text).toMatch(/^ +Ready +True .* +KubeletReady /m)
    expect(text).toMatch(/^ +MemoryPressure +False /m)
    expect(text).toMatch(/^ +InternalIP: +127\.0\.0\.1$/m)
    expect(text).toMatch(/^ +pods: +110$/m)
    expect(text).toMatch(/^ +Kubelet Version: +v1\.32\./m)
    expect(text).toMatch(/^Non-terminated Pods: +\(\d+ in total\)$/m)
    expect(text).toMatch(/^ +nodes +described +0 \(0%\)/m)
    await kubectl.ok`delete pod described`
  })

  test('cordon keeps pods away, uncordon lets them in', async () => {
    expect(await kubectl.ok`cordon ${node}`).toBe('node/drained cordoned')
    expect(await status()).toBe('Ready,SchedulingDisabled')
    expect(await kubectl.ok`cordon ${node}`).toBe('node/drained already cordoned')
    await kubectl.withInput(podOn('waiting')).ok`create -f -`
    await kubectl.ok`wait --for=jsonpath=${'{.status.conditions[0].reason}'}=Unschedulable pod/waiting --timeout=60s`
    const message =
      await kubectl.ok`get pod waiting -o jsonpath=${'{.status.conditions[0].message}'}`
    expect(message).toContain('1 node(s) were unschedulable')
    expect(await kubectl.ok`get pod waiting --no-headers`).toMatch(/waiting +0\/1 +Pending/)
    expect(await kubectl.ok`uncordon ${node}`).toBe('node/drained uncordoned')
    await kubectl.ok`wait --for=condition=Ready pod/waiting --timeout=60s`
    expect(await status()).toBe('Ready')
    await kubectl.ok`delete pod waiting`
  })

  test('drain moves replicas elsewhere, respects a disruption budget, and takes bare pods only by force', async () => {
    const selector = '--pod-selector=app in (spread,bare)'
    await kubectl.ok`create deployment spread --image=a:1 --replicas=4`
    await kubectl.ok`rollout status deployment/spread --timeout=60s`
    const here = `--field-selector=spec.nodeName=${node}`
    const count = async () => tableOf(await kubectl.ok`get pods -l app=spread ${here}`).length
    await kubectl.withInput(podOn('bare')).ok`create -f -`
    await kubectl.ok`wait --for=condition=Ready pod/bare --timeout=60s`
    expect(await count()).toBeGreaterThan(0)

    const refused = await kubectl.fails`drain ${node} ${selector} --timeout=5s`
    expect(refused.stderr).toContain(
      'cannot delete Pods that declare no controller (use --force to override): nodes/bare',
    )
    await kubectl.ok`create poddisruptionbudget spread --selector=app=spread --min-available=4`
    await kubectl.ok`wait --for=jsonpath=${'{.status.currentHealthy}'}=4 pdb/spread --timeout=60s`
    expect(tableOf(await kubectl.ok`get pdb spread`)).toMatchObject([
      { 'MIN AVAILABLE': '4', 'MAX UNAVAILABLE': 'N/A', 'ALLOWED DISRUPTIONS': '0' },
    ])
    const held = await kubectl.fails`drain ${node} --pod-selector=app=spread --timeout=1s`
    expect(held.stderr).toContain(
      "Cannot evict pod as it would violate the pod's disruption budget.",
    )
    // With one that may go at a time it takes longer, and never are there fewer.
    await kubectl.ok`patch pdb spread --type=merge -p ${'{"spec":{"minAvailable":3}}'}`
    await kubectl.ok`wait --for=jsonpath=${'{.status.disruptionsAllowed}'}=1 pdb/spread --timeout=60s`
    const drained = await kubectl.ok`drain ${node} ${selector} --force --timeout=60s`
    expect(drained).toContain('evicting pod nodes/bare')
    expect(drained).toContain('pod/bare evicted')
    expect(drained).toMatch(/node\/drained drained$/)
    expect(await count()).toBe(0)
    expect((await kubectl.fails`get pod bare`).stderr).toContain('not found')
    await kubectl.ok`rollout status deployment/spread --timeout=60s`
    expect(tableOf(await kubectl.ok`get deploy spread`)).toMatchObject([{ READY: '4/4' }])
    await kubectl.ok`uncordon ${node}`
    expect(tableOf(await kubectl.ok`get pdb spread`)).toMatchObject([
      { 'ALLOWED DISRUPTIONS': '1' },
    ])
    await kubectl.ok`delete deployment/spread poddisruptionbudget/spread`
  })

  test('drain leaves the pods of a DaemonSet alone, and only when told so', async () => {
    const labels = { app: 'agent' }
    const set = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'agent' },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: 'main', image: 'example.com/app:1' }] },
        },
      },
    }
    await kubectl.withInput(JSON.stringify(set)).ok`create -f -`
    await kubectl.ok`rollout status daemonset/agent --timeout=60s`
    const here = `--field-selector=spec.nodeName=${node}`
    const pod = await kubectl.ok`get pods -l app=agent ${here} -o name`
    expect(pod).toMatch(/^pod\/agent-\w+$/)
    const name = pod.replace('pod/', 'nodes/')
    const refused = await kubectl.fails`drain ${node} --pod-selector=app=agent --timeout=5s`
    expect(refused.stderr).toContain(
      `cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): ${name}`,
    )
    const drained =
      await kubectl.try`drain ${node} --pod-selector=app=agent --ignore-daemonsets --timeout=60s`
    expect(drained).toMatchObject({ code: 0 })
    expect(drained.stderr).toContain(`Warning: ignoring DaemonSet-managed Pods: ${name}`)
    expect(drained.stdout).toMatch(/node\/drained drained$/m)
    expect(await status()).toBe('Ready,SchedulingDisabled')
    expect(await kubectl.ok`get pods -l app=agent ${here} -o name`).toBe(pod)
    // The taint that goes with the mark does not keep such pods away: one that is deleted comes back.
    await kubectl.ok`delete ${pod}`
    await kubectl.ok`rollout status daemonset/agent --timeout=60s`
    expect(await kubectl.ok`get pods -l app=agent ${here} -o name`).not.toBe(pod)
    expect(tableOf(await kubectl.ok`get daemonset agent`)).toMatchObject([
      { DESIRED: '2', READY: '2' },
    ])
    await kubectl.ok`uncordon ${node}`
    await kubectl.ok`delete daemonset agent`
  })

  test('taint adds, refuses to repeat, changes and removes; NoExecute evicts at once', async () => {
    await kubectl.withInput(podOn('sensitive')).ok`create -f -`
    const tolerations = [{ key: 'broken', operator: 'Exists' }]
    await kubectl.withInput(podOn('tolerant', { tolerations })).ok`create -f -`
    await kubectl.ok`wait --for=condition=Ready pod/sensitive pod/tolerant --timeout=60s`
    expect(await kubectl.ok`taint nodes ${node} dedicated=tests:NoSchedule`).toBe(
      'node/drained tainted',
    )
    expect((await kubectl.fails`taint nodes ${node} dedicated=tests:NoSchedule`).stderr).toContain(
      'already has dedicated taint(s) with same effect(s) and --overwrite is false',
    )
    expect(await kubectl.ok`taint nodes ${node} dedicated=more:NoSchedule --overwrite`).toBe(
      'node/drained modified',
    )
    await kubectl.withInput(podOn('kept-out')).ok`create -f -`
    await kubectl.ok`wait --for=jsonpath=${'{.status.conditions[0].reason}'}=Unschedulable pod/kept-out --timeout=60s`
    expect(
      await kubectl.ok`get pod kept-out -o jsonpath=${'{.status.conditions[0].message}'}`,
    ).toContain('1 node(s) had untolerated taint {dedicated: more}')
    expect(await kubectl.ok`taint nodes ${node} dedicated-`).toBe('node/drained untainted')
    await kubectl.ok`wait --for=condition=Ready pod/kept-out --timeout=60s`

    await kubectl.ok`taint nodes ${node} broken=yes:NoExecute`
    await kubectl.ok`wait --for=delete pod/sensitive pod/kept-out --timeout=60s`
    expect(await kubectl.ok`get pod tolerant --no-headers`).toMatch(/1\/1 +Running/)
    expect(await kubectl.ok`describe node ${node}`).toMatch(/^Taints: +broken=yes:NoExecute$/m)
    await kubectl.ok`taint nodes ${node} broken:NoExecute-`
    await kubectl.ok`delete pod tolerant`
  })

  test('labels of a node attract pods and show as its role', async () => {
    await kubectl.ok`label node ${node} node-role.kubernetes.io/edge= disk=fast`
    expect(tableOf(await kubectl.ok`get nodes -l disk=fast`)).toMatchObject([
      { NAME: node, ROLES: 'edge' },
    ])
    const nodeSelector = { disk: 'fast' }
    await kubectl.withInput(podOn('attracted', { nodeSelector })).ok`create -f -`
    await kubectl.ok`wait --for=condition=Ready pod/attracted --timeout=60s`
    expect(await kubectl.ok`get pod attracted -o jsonpath=${'{.spec.nodeName}'}`).toBe(node)
  })
})
