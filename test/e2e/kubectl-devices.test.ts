/** kubectl on devices: slices written by hand, a Deployment whose pods claim them, and pods that wait until devices are free. */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { kubectlFor, requireKubectl } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import { createPlace } from './place.ts'

const { path, test } = requireKubectl()
const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

const gates = ['api-server', 'controller-manager', 'scheduler'].flatMap((component) => [
  '--set',
  `${component}.feature-gates=DynamicResourceAllocation=true`,
])
const driver = 'gpu.example.com'
const apiVersion = 'resource.k8s.io/v1beta1'

const slice = (nodeName: string, ...models: readonly string[]) => ({
  apiVersion,
  kind: 'ResourceSlice',
  metadata: { name: `${nodeName}-gpus` },
  spec: {
    driver,
    nodeName,
    pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
    devices: models.map((model, i) => ({
      name: `gpu-${i}`,
      basic: {
        attributes: { model: { string: model } },
        capacity: { memory: { value: model === 'big' ? '80Gi' : '16Gi' } },
      },
    })),
  },
})

const bigOne = `device.capacity["${driver}"].memory.compareTo(quantity("40Gi")) >= 0`
const labels = { app: 'train' }
const objects = (nodes: readonly string[]) => [
  slice(nodes[0] ?? '', 'small', 'big'),
  slice(nodes[1] ?? '', 'big'),
  {
    apiVersion,
    kind: 'DeviceClass',
    metadata: { name: 'gpu' },
    spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
  },
  {
    apiVersion,
    kind: 'ResourceClaimTemplate',
    metadata: { name: 'big-gpu' },
    spec: {
      spec: {
        devices: {
          requests: [
            { name: 'gpu', deviceClassName: 'gpu', selectors: [{ cel: { expression: bigOne } }] },
          ],
        },
      },
    },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'train' },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'big-gpu' }],
          containers: [
            { name: 'main', image: 'train:1', resources: { claims: [{ name: 'gpu' }] } },
          ],
        },
      },
    },
  },
]

/** `driver pool device` of every device that a claim holds. */
async function devicesHeld(kubectl: Kubectl): Promise<string[]> {
  const { items } = await kubectl.json`get resourceclaims -o json`
  // oxlint-disable-next-line typescript/no-explicit-any -- claims as kubectl shows them
  return items.flatMap((claim: any) =>
    // oxlint-disable-next-line typescript/no-explicit-any -- as above
    (claim.status?.allocation?.devices.results ?? []).map(
      (one: any) => `${one.pool} ${one.device}`,
    ),
  )
}

/** Names of the pods in this phase that are not being deleted. */
async function podsIn(kubectl: Kubectl, phase: string): Promise<string[]> {
  const { items } = await kubectl.json`get pods -l app=train -o json`
  return items
    .filter(({ metadata }: { metadata: object }) => !('deletionTimestamp' in metadata))
    .filter(({ status }: { status: { phase: string } }) => status.phase === phase)
    .map(({ metadata }: { metadata: { name: string } }) => metadata.name)
}

describe('devices', () => {
  let kubectl: Kubectl
  let nodes: string[]

  beforeAll(async () => {
    const api = ['--set', 'api-server.runtime-config=resource.k8s.io/v1beta1=true']
    await place.up('devices', ['--nodes', '2', ...api, ...gates])
    kubectl = await kubectlFor(place.cluster('devices'), { path, namespace: 'devices' })
    nodes = (await kubectl.ok`get nodes -o jsonpath={.items[*].metadata.name}`).split(' ')
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects(nodes) })
    await kubectl.withInput(input).ok`apply -f -`
  })

  test('go to as many pods as there are devices that fit; the others say what they wait for', async () => {
    await eventually(async () => expect(await podsIn(kubectl, 'Running')).toHaveLength(2))
    expect((await devicesHeld(kubectl)).toSorted()).toEqual(
      [`${nodes[0]} gpu-1`, `${nodes[1]} gpu-0`].toSorted(),
    )
    const [waiting = ''] = await podsIn(kubectl, 'Pending')
    await eventually(async () => {
      expect(await kubectl.ok`describe pod ${waiting}`).toContain('2 cannot allocate all claims')
    })
    const shown = await kubectl.ok`get resourceclaims`
    expect(shown.match(/allocated,reserved/g)).toHaveLength(2)
    expect(shown.match(/pending/g)).toHaveLength(1)
  })

  test('are free for the next pod when a pod goes', async () => {
    await kubectl.ok`scale deployment/train --replicas=2`
    await kubectl.ok`rollout status deployment/train --timeout=60s`
    await eventually(async () => expect(await devicesHeld(kubectl)).toHaveLength(2))
    const [gone = ''] = await podsIn(kubectl, 'Running')
    await kubectl.ok`delete pod ${gone} --wait=false`
    await eventually(async () => {
      const running = await podsIn(kubectl, 'Running')
      expect(running).toHaveLength(2)
      expect(running).not.toContain(gone)
    })
    expect(new Set(await devicesHeld(kubectl)).size).toBe(2)
  })

  test('leave nothing behind with the Deployment', async () => {
    await kubectl.ok`delete deployment/train`
    await eventually(async () => {
      expect((await kubectl.json`get resourceclaims,pods -o json`).items).toEqual([])
    })
  })

  test('cannot be selected by an expression that does not compile', async () => {
    const claim = {
      apiVersion,
      kind: 'ResourceClaim',
      metadata: { name: 'wrong' },
      spec: {
        devices: {
          requests: [
            {
              name: 'gpu',
              deviceClassName: 'gpu',
              selectors: [{ cel: { expression: 'device.colour == "red"' } }],
            },
          ],
        },
      },
    }
    const { stderr } = await kubectl.withInput(JSON.stringify(claim)).fails`create -f -`
    expect(stderr).toContain(
      'spec.devices.requests[0].selectors[0].cel.expression: Invalid value: "device.colour == \\"red\\"": compilation failed: ERROR: <input>:1:7: undefined field \'colour\'',
    )
  })
})
