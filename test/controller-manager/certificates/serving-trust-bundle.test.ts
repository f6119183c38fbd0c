import { afterEach, expect, it } from 'vitest'
import {
  bundleName,
  publishTrustBundle,
} from '../../../components/controller-manager/certificates/serving-trust-bundle.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

const signerName = 'kubernetes.io/kube-apiserver-serving'
const name = bundleName(signerName, 'new')

async function start(...bundles: readonly KubeObject[]): Promise<void> {
  harness = createReconcilerHarness({ gates: { ClusterTrustBundle: true } })
  for (const one of bundles) harness.cluster.seed(harness.resources.clusterTrustBundles, one)
  await harness.start({
    name: 'kube-apiserver-serving-clustertrustbundle-publisher-controller',
    start: (context, signal) => publishTrustBundle('new', context, signal),
  })
}

function bundle(at: string, trustBundle: string, signer = signerName): KubeObject {
  return { metadata: { name: at }, spec: { signerName: signer, trustBundle } }
}

function shown(): string[] {
  return harness.cluster
    .all(harness.resources.clusterTrustBundles)
    .map(({ metadata, spec }) => `${metadata.name} ${spec.trustBundle}`)
    .toSorted()
}

it('the authority is published, and then nothing more is written', async () => {
  await start()
  // Signer and hash, as upstream's.
  expect(name).toMatch(/^kubernetes\.io:kube-apiserver-serving:[0-9a-f]{24}$/)
  expect(shown()).toEqual([`${name} new`])
  await harness.step(600_000)
  expect(harness.cluster.writes).toEqual([`create clustertrustbundles ${name}`])
})

it('a bundle that was changed is put right, one that was deleted comes back', async () => {
  await start(bundle(name, 'forged'))
  expect(shown()).toEqual([`${name} new`])
  harness.cluster.remove(harness.resources.clusterTrustBundles, name)
  await harness.step()
  expect(shown()).toEqual([`${name} new`])
})

it('bundles of an earlier authority go, those of other signers stay', async () => {
  const other = bundle('example.com:mine:1', 'mine', 'example.com/mine')
  await start(bundle(bundleName(signerName, 'old'), 'old'), other)
  expect(shown()).toEqual(['example.com:mine:1 mine', `${name} new`])
})
