/** `skiff history` on a real cluster of processes: who did what to an object, and what each component saw before it wrote. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Cluster } from '../../cluster/cluster.ts'
import type { ObjectHistory } from '../../cluster/history/object-history.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Deployment, Pod } from '../../components/api/generated/types.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { eventually } from '../support/eventually.ts'
import { deployment } from '../support/workloads.ts'
import { createPlace } from './place.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())
let cluster: Cluster
const namespace = 'default'

beforeAll(async () => {
  cluster = await place.up('history', ['--nodes', '1'])
  const { client } = cluster
  const { deployments } = resourcesOf(client.dialect)
  const web = client.resource<Deployment & KubeObject>(deployments)
  await web.create(deployment('web', { replicas: 1 }) as KubeObject)
  await eventually(async () => {
    const { status } = await web.get({ namespace, name: 'web' })
    expect(status?.availableReplicas).toBe(1)
  })
})

const history = (...words: string[]) => place.run(['history', ...words, '--name', 'history'])

async function historyOf(kind: string, name: string): Promise<ObjectHistory> {
  const outcome = await history(kind, name, '-o', 'json')
  expect(outcome).toMatchObject({ code: 0, stderr: '' })
  return JSON.parse(outcome.stdout) as ObjectHistory
}

test('a pod has its creator, its binding and its statuses, each with what led to it', async () => {
  const { client } = cluster
  const { pods } = resourcesOf(client.dialect)
  const { items } = await client.resource<Pod & KubeObject>(pods).list({ namespace })
  const name = items[0]?.metadata.name ?? ''
  const { revisions } = await historyOf('pod', name)
  const [created, bound, ...statuses] = revisions
  expect(created).toMatchObject({
    type: 'created',
    author: { verb: 'create', cause: { kind: 'watch', what: 'replicasets.apps' } },
  })
  expect(created?.author?.user).toContain('replicaset-controller')
  expect(bound).toMatchObject({
    type: 'changed',
    author: {
      user: 'system:kube-scheduler',
      verb: 'create',
      subresource: 'binding',
      cause: { what: 'pods', key: `default/${name}`, revision: created?.resourceVersion },
    },
  })
  expect(bound?.fields).toContainEqual({
    path: 'spec.nodeName',
    before: 'nothing',
    after: 'node-1',
  })
  expect(statuses.at(-1)).toMatchObject({
    author: { user: 'system:node:node-1', verb: 'patch', subresource: 'status' },
  })
  expect(statuses[0]?.author?.cause).toMatchObject({ revision: bound?.resourceVersion })
})

test('a Deployment shows who scaled it, as text', async () => {
  const { client } = cluster
  const { deployments } = resourcesOf(client.dialect)
  await client
    .resource(deployments)
    .patch({ namespace, name: 'web' }, { spec: { replicas: 2 } }, { type: 'merge' })
  const { code, stdout } = await history('deploy/web')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Deployment web in namespace default, since revision \d+\n/)
  expect(stdout).toContain('  created by create\n  by   kubernetes-admin, ')
  expect(stdout).toContain('  changed by patch\n  by   kubernetes-admin, ')
  expect(stdout).toContain('  spec.replicas: 1 -> 2\n')
  expect(stdout).toMatch(/ {2}why {2}it saw replicasets\.apps default\/web-\w+ at revision \d+\n/)
  const short = await history('deploy/web', '--diff=false')
  expect(short.stdout).not.toContain('spec.replicas')
})

test('a kubeconfig can name the cluster', async () => {
  const path = await place.run(['kubeconfig', '--path', '--name', 'history'])
  const outcome = await place.run(['history', 'node', 'node-1', '--kubeconfig', path.stdout.trim()])
  expect(outcome).toMatchObject({ code: 0, stderr: '' })
  expect(outcome.stdout).toMatch(/^Node node-1, since revision \d+\n/)
})

test('what is not there is exit code 3, what is no kind is 2', async () => {
  const nothing = await history('deploy', 'nothing')
  expect(nothing.code).toBe(3)
  expect(nothing.stderr).toContain('there is and was no deployment "nothing" in namespace default')
  const kind = await history('deployy', 'web')
  expect(kind.code).toBe(2)
  expect(kind.stderr).toContain('the server has no kind "deployy"')
  const usage = await history('deploy')
  expect(usage.code).toBe(2)
  expect(usage.stderr).toContain('skiff history needs KIND NAME or KIND/NAME')
})
