/** kubectl apply --server-side: managers, conflicts, force, taking over from client-side apply, and diff. */
import { beforeAll, describe, expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { kubectlFor, requireKubectl } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()

/** A Deployment; without replicas where they do not matter. */
function deployment(
  name: string,
  lines: { replicas?: number; image?: string; label?: string },
): string {
  const { replicas, image = 'example.com/app:1', label } = lines
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}${label === undefined ? '' : `\n  labels: {tier: ${label}}`}
spec:${replicas === undefined ? '' : `\n  replicas: ${replicas}`}
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      containers: [{name: app, image: '${image}'}]
`
}

interface Entry {
  readonly manager: string
  readonly operation: string
  readonly subresource?: string
  readonly fieldsV1: Record<string, Record<string, unknown>>
}

describe('kubectl apply --server-side', () => {
  let kubectl: Kubectl

  beforeAll(async () => {
    kubectl = await kubectlFor(await sharedCluster(), { path, namespace: 'applying' })
  })

  /** `operation manager` of everybody who owns a part of the specification. */
  async function specOwners(name: string): Promise<string[]> {
    const object = await kubectl.json`get deployment ${name} -o json --show-managed-fields`
    return (object.metadata.managedFields as Entry[])
      .filter(({ fieldsV1 }) => fieldsV1['f:spec'] !== undefined)
      .map(({ manager, operation }) => `${operation} ${manager}`)
      .toSorted()
  }

  test('makes, changes and leaves alone; the managed fields are shown on request only', async () => {
    const first = kubectl.withInput(deployment('made', { replicas: 0, label: 'one' }))
    expect(await first.ok`apply --server-side -f -`).toBe('deployment.apps/made serverside-applied')
    const made = await kubectl.json`get deployment made -o json --show-managed-fields`
    expect(await first.ok`apply --server-side -f -`).toBe('deployment.apps/made serverside-applied')
    const second = kubectl.withInput(deployment('made', { replicas: 0 }))
    expect(await second.ok`apply --server-side -f - --dry-run=server`).toBe(
      'deployment.apps/made serverside-applied (server dry run)',
    )
    await second.ok`apply --server-side -f -`
    const now = await kubectl.json`get deployment made -o json`
    expect(made.metadata.labels).toEqual({ tier: 'one' })
    expect(now.metadata.labels).toBeUndefined()
    expect(now.metadata.managedFields).toBeUndefined()
    expect(await specOwners('made')).toEqual(['Apply kubectl'])
  })

  test('is refused with the owner of each field, and forced with --force-conflicts', async () => {
    await kubectl.withInput(deployment('fought', { replicas: 0 }))
      .ok`apply --server-side --field-manager=first -f -`
    const other = kubectl.withInput(deployment('fought', { image: 'example.com/app:2' }))
    const refused = await other.fails`apply --server-side --field-manager=second -f -`
    expect(refused.stderr).toContain(
      'Apply failed with 1 conflict: conflict with "first": .spec.template.spec.containers[name="app"].image',
    )
    expect(refused.stderr).toContain('--force-conflicts')
    expect(await other.ok`apply --server-side --field-manager=second --force-conflicts -f -`).toBe(
      'deployment.apps/fought serverside-applied',
    )
    expect(await specOwners('fought')).toEqual(['Apply first', 'Apply second'])
    const image = await kubectl.ok`get deployment fought -o jsonpath={..image}`
    expect(image).toBe('example.com/app:2')
    // The first may still change what is its own.
    await kubectl.ok`scale deployment fought --replicas=0`
    const scaled = await kubectl.withInput(
      deployment('fought', { replicas: 1, image: 'example.com/app:2' }),
    ).try`apply --server-side --field-manager=first -f - --dry-run=server`
    expect(scaled.code, scaled.stderr).toBe(0)
  })

  test('kubectl label, scale and set own what they change', async () => {
    await kubectl.withInput(deployment('touched', { replicas: 0 })).ok`apply --server-side -f -`
    await kubectl.ok`label deployment touched tier=two`
    await kubectl.ok`scale deployment touched --replicas=1`
    await kubectl.ok`set image deployment/touched app=example.com/app:3`
    const refused = await kubectl.withInput(deployment('touched', { replicas: 2, label: 'three' }))
      .fails`apply --server-side -f -`
    expect(refused.stderr).toContain('Apply failed with 3 conflicts')
    expect(refused.stderr).toContain('conflicts with "kubectl-label" using apps/v1:')
    expect(refused.stderr).toContain('- .metadata.labels.tier')
    expect(refused.stderr).toContain('conflicts with "kubectl-set" using apps/v1:')
    expect(refused.stderr).toContain('with subresource "scale" using apps/v1:')
  })

  test('takes over what was applied from the client’s side, without conflicts', async () => {
    expect(
      await kubectl.withInput(deployment('moving', { replicas: 0, label: 'one' })).ok`apply -f -`,
    ).toBe('deployment.apps/moving created')
    expect(await specOwners('moving')).toEqual(['Update kubectl-client-side-apply'])
    const changed = kubectl.withInput(
      deployment('moving', { replicas: 0, image: 'example.com/app:2' }),
    )
    expect(await changed.ok`apply --server-side -f -`).toBe(
      'deployment.apps/moving serverside-applied',
    )
    expect(await specOwners('moving')).toContain('Apply kubectl')
    const now = await kubectl.json`get deployment moving -o json`
    expect(now.spec.template.spec.containers[0].image).toBe('example.com/app:2')
    // What the first apply had and the second leaves out goes: kubectl handed its ownership over.
    expect(now.metadata.labels).toBeUndefined()
    // Back and forth: the annotation was kept up to date.
    expect(await changed.ok`apply -f -`).toMatch(/deployment.apps\/moving (unchanged|configured)/)
  })

  test('diff --server-side shows what an apply would change', async () => {
    await kubectl.withInput(deployment('shown', { replicas: 0 })).ok`apply --server-side -f -`
    // What its controller writes between the two reads of kubectl is a difference, too.
    await eventually(async () => {
      const same = await kubectl.withInput(deployment('shown', { replicas: 0 }))
        .try`diff --server-side -f -`
      expect([same.code, same.stdout], same.stderr).toEqual([0, ''])
    })
    const other = await kubectl.withInput(deployment('shown', { replicas: 0, label: 'new' }))
      .try`diff --server-side -f -`
    expect(other.code).toBe(1)
    expect(other.stdout).toMatch(/^\+ {4}tier: new$/m)
    const object = await kubectl.json`get deployment shown -o json`
    expect(object.metadata.labels).toBeUndefined()
  })

  test('a configuration that fits no schema is refused with the path', async () => {
    const bad = deployment('bad', { replicas: 0 }).replace('replicas: 0', 'replicaz: 0')
    const refused = await kubectl.withInput(bad).fails`apply --server-side --validate=false -f -`
    expect(refused.stderr).toContain(
      'failed to create typed patch object (applying/bad; apps/v1, Kind=Deployment): .spec.replicaz: field not declared in schema',
    )
  })
})
