/** Embedded clusters whose clock is far from that of this machine, by which their clients check certificates. */
import { expect, test } from 'vitest'
import { startCluster } from '../../library/index.ts'
import type { KubernetesObject } from '../../library/index.ts'

const yearMs = 365 * 86_400_000

test.each([
  ['a year ago', -1.1 * yearMs],
  ['ten years ago', -10 * yearMs],
  ['ten years from now', 10 * yearMs],
])('a cluster that starts %s serves users, tokens and its nodes, and goes on', async (_, offMs) => {
  await using cluster = await startCluster({ startAt: new Date(Date.now() + offMs) })
  const jane = cluster.client({ user: 'jane', groups: ['system:masters'] })
  const created = await jane.create<KubernetesObject>({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web' },
    spec: { containers: [{ name: 'web', image: 'nginx' }] },
  })
  const year = new Date(Date.now() + offMs).getUTCFullYear()
  const createdAt = new Date(String(created.metadata?.['creationTimestamp']))
  expect(Math.abs(createdAt.getUTCFullYear() - year)).toBeLessThanOrEqual(1)
  await cluster.expect({ kind: 'Pod', name: 'web', where: 'status.phase == Running' })

  const answer = await jane.request({
    method: 'POST',
    path: '/api/v1/namespaces/default/serviceaccounts/default/token',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  })
  const { token } = (answer as { status: { token: string } }).status
  const review = await cluster
    .client({ token })
    .create({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' })
  expect(review).toMatchObject({
    status: { userInfo: { username: 'system:serviceaccount:default:default' } },
  })

  // The API server reads it over TLS from the node.
  const path = '/api/v1/namespaces/default/pods/web/log'
  expect(await jane.request({ method: 'GET', path })).toContain('started')

  await cluster.clock.advance('10m')
  const ready = { kind: 'Node', where: 'status.conditions[type=Ready].status == True' }
  await cluster.expect(ready)
  await using fork = await cluster.fork()
  await fork.expect(ready)
})
