/** kubectl and admission webhooks: what an operator's author sees of a mutating and a validating one. */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { startAdmissionRemote, type AdmissionRemote } from '../support/admission-remote.ts'
import { kubectlFor, requireKubectl, type Kubectl } from './kubectl.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()

describe('admission webhooks', () => {
  const namespace = 'hooks'
  let kubectl: Kubectl
  let remote: AdmissionRemote

  const configuration = (kind: string, name: string, more: object): string =>
    JSON.stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: `${kind}WebhookConfiguration`,
      metadata: { name: `e2e-${name}` },
      webhooks: [
        remote.webhook(`${name}.example.com`, {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
          ...more,
        }),
      ],
    })

  beforeAll(async () => {
    remote = await startAdmissionRemote()
    kubectl = await kubectlFor(await sharedCluster(), { path, namespace })
    const rules = [
      { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] },
    ]
    await kubectl.withInput(configuration('Mutating', 'inject', { rules })).ok`create -f -`
    await kubectl.withInput(configuration('Validating', 'check', {})).ok`create -f -`
    remote.respond = ({ object }, name) => {
      if (name === 'inject.example.com') {
        const sidecar = { name: 'sidecar', image: 'proxy:1' }
        return {
          allowed: true,
          patch: [{ op: 'add', path: '/spec/containers/-', value: sidecar }],
        }
      }
      const isBad = object?.data?.color === 'red'
      const status = { code: 403, reason: 'Forbidden', message: 'red is not a color' }
      return isBad ? { allowed: false, status } : { allowed: true, warnings: ['seen by check'] }
    }
  })

  afterAll(async () => {
    const names = 'mutatingwebhookconfiguration/e2e-inject validatingwebhookconfiguration/e2e-check'
    for (const name of names.split(' ')) await kubectl.ok`delete ${name}`
    await remote[Symbol.asyncDispose]()
  })

  test('a mutating webhook puts a sidecar into the Pods of a Deployment, which run', async () => {
    await kubectl.ok`create deployment web --image=nginx:1.26`
    await kubectl.ok`rollout status deployment/web --timeout=60s`
    const images = '{.items[*].spec.containers[*].image}'
    expect(await kubectl.ok`get pods -l app=web -o jsonpath=${images}`).toBe('nginx:1.26 proxy:1')
    const ready = '{.items[*].status.containerStatuses[*].ready}'
    expect(await kubectl.ok`get pods -l app=web -o jsonpath=${ready}`).toBe('true true')
  })

  test('a validating webhook refuses and warns', async () => {
    const refused = await kubectl.try`create configmap paint --from-literal=color=red`
    expect(refused.code).toBe(1)
    expect(refused.stderr.trim()).toBe(
      'error: failed to create configmap: admission webhook "check.example.com" denied the request: red is not a color',
    )
    const made = await kubectl.try`create configmap paint --from-literal=color=blue`
    expect([made.code, made.stderr.trim()]).toEqual([0, 'Warning: seen by check'])
    const dry = await kubectl.try`delete configmap paint --dry-run=server`
    expect(dry.code).toBe(0)
    expect(remote.asked().at(-1)).toMatchObject({ operation: 'DELETE', dryRun: true })
  })
})
