/** `skiff why` for objects on a real cluster: every trouble that people make is named, and the advice is what helps. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Cluster } from '../../cluster/cluster.ts'
import { createAskScheduler } from '../../cluster/why/ask-scheduler.ts'
import { explainObject } from '../../cluster/why/explain-object.ts'
import { explainPending } from '../../cluster/why/explain-pending.ts'
import type { ObjectAnswer, PendingAnswer } from '../../cluster/why/finding.ts'
import { resourcesOf, type ResourceKey } from '../../components/api/resources.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { eventually } from '../support/eventually.ts'
import { createPlace } from './place.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())
let cluster: Cluster

beforeAll(async () => {
  cluster = await place.up('objects', ['--nodes', '2'])
})

const namespace = 'default'
const containers = [{ name: 'app', image: 'example.com/app' }]

const create = (key: ResourceKey, name: string, more: object) => {
  const { metadata = {}, ...rest } = more as { metadata?: object }
  const resource = resourcesOf(cluster.client.dialect)[key]
  return cluster.client.resource(resource).create({
    metadata: { name, ...(resource.namespaced ? { namespace } : {}), ...metadata },
    ...rest,
  })
}

const source = () => ({
  client: cluster.client,
  askScheduler: createAskScheduler(cluster),
  nowMs: systemClock.now(),
})

const causesOf = ({ findings }: ObjectAnswer) => findings.map(({ cause }) => cause)

/** The answer as soon as it names exactly these causes. */
const answered = (kind: string, name: string, causes: readonly string[]) =>
  eventually(async () => {
    const answer = await explainObject(source(), { kind, name, namespace })
    expect(causesOf(answer)).toEqual(causes)
    return answer
  })

const why = (...words: string[]) => place.run(['why', ...words, '--name', 'objects'])

/** What the command prints, which must hold the words; nothing else is on standard error. */
async function shown(words: readonly string[], code: number, texts: readonly string[]) {
  const outcome = await why(...words)
  expect(outcome).toMatchObject({ code, stderr: '' })
  for (const text of texts) expect(outcome.stdout).toContain(text)
  return outcome.stdout
}

test('a pod that is too large runs once the advice is followed', async () => {
  await create('pods', 'big', {
    spec: { containers: [{ ...containers[0], resources: { requests: { cpu: '1000' } } }] },
  })
  const { scheduling } = await answered('pod', 'big', ['Unschedulable'])
  expect(scheduling?.nodes).toHaveLength(2)
  const text = await shown(['pod', 'big'], 1, [
    'Pod default/big is not as it should be: Pending',
    'None of 2 nodes can take the pod.',
    '2 nodes (node-1, node-2): NodeResourcesFit: Insufficient cpu',
    'event FailedScheduling',
  ])
  const [, cpu = ''] = /request at most (\S+) of cpu/.exec(text) ?? []
  expect(cpu).not.toBe('')
  await create('pods', 'small', {
    spec: { containers: [{ ...containers[0], resources: { requests: { cpu } } }] },
  })
  await answered('pod', 'small', [])
  await shown(['po/small'], 0, ['Pod default/small is fine: Running and Ready since 20'])
})

test('pending pods are told apart by cause', async () => {
  await create('pods', 'foreign', { spec: { containers, schedulerName: 'mine' } })
  await create('pods', 'gated', {
    spec: { containers, schedulingGates: [{ name: 'example.com/g' }] },
  })
  await create('pods', 'claiming', {
    spec: { containers, volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'nope' } }] },
  })
  await answered('pod', 'foreign', ['UnknownScheduler'])
  await answered('pod', 'gated', ['SchedulingGated'])
  await answered('pod', 'claiming', ['MissingClaim'])
  await eventually(async () => {
    const { groups } = await explainPending(source(), '')
    expect(groups.map(({ cause }) => cause)).toEqual(
      expect.arrayContaining([
        'Unschedulable',
        'UnknownScheduler',
        'SchedulingGated',
        'MissingClaim',
      ]),
    )
  })
  const { code, stdout } = await why('pending', '-A', '-o', 'json')
  expect(code).toBe(1)
  const { groups, notRead } = JSON.parse(stdout) as PendingAnswer
  expect(notRead).toEqual([])
  const objects = groups.flatMap((group) =>
    group.objects.map(({ name }) => `${group.cause} ${name}`),
  )
  expect(objects).toContain('UnknownScheduler foreign')
  expect(objects).toContain('MissingClaim claiming')
})

test('a stopped scheduler is the cause of what it has not placed', async () => {
  await cluster.control.call('stop-component', { name: 'scheduler' })
  await create('pods', 'waiting', { spec: { containers } })
  const { notRead } = await answered('pod', 'waiting', ['SchedulerNotRunning'])
  expect(notRead).toEqual([expect.stringContaining('the scheduler: it is stopped')])
  await cluster.control.call('start-component', { name: 'scheduler' })
  await answered('pod', 'waiting', [])
})

test('a crash loop has the last exit and leads to the log', async () => {
  const annotations = { 'skiff.dev/exit-after': '0s', 'skiff.dev/exit-code': '3' }
  await create('pods', 'crash', { metadata: { annotations }, spec: { containers } })
  await answered('pod', 'crash', ['CrashLoopBackOff'])
  await shown(['pod', 'crash'], 1, [
    'exit code 3 (Error)',
    'kubectl logs crash -n default -c app --previous',
  ])
})

test('a finalizer holds a deleted object until it is removed', async () => {
  await create('configMaps', 'held', { metadata: { finalizers: ['example.com/mine'] } })
  const configMaps = cluster.client.resource(resourcesOf(cluster.client.dialect).configMaps)
  await configMaps.delete({ namespace, name: 'held' })
  await shown(['cm', 'held'], 1, [
    'Terminating since',
    'The finalizer example.com/mine holds the object',
  ])
  await configMaps.patch(
    { namespace, name: 'held' },
    { metadata: { finalizers: null } },
    { type: 'merge' },
  )
  expect(await why('cm', 'held')).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringContaining('there is no configmap "held" in namespace default') as string,
  })
})

test('claims, Services and kinds that do not exist', async () => {
  await create('persistentVolumeClaims', 'data', {
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'gold',
      resources: { requests: { storage: '1Gi' } },
    },
  })
  await create('services', 'web', { spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } })
  await answered('pvc', 'data', ['MissingStorageClass'])
  await shown(['pvc', 'data'], 1, ['there are: standard'])
  await answered('svc', 'web', ['SelectorMatchesNothing'])
  expect(await why('podz', 'a')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the server has no kind "podz"') as string,
  })
})

test('a rollout that gets stuck is followed to the probe and to the quota', async () => {
  await create('namespaces', 'tight', {})
  const inTight = { metadata: { namespace: 'tight' } }
  await create('resourceQuotas', 'few', { ...inTight, spec: { hard: { pods: '2' } } })
  const labels = { app: 'slow' }
  const readinessProbe = { httpGet: { path: '/ready', port: 80 }, periodSeconds: 1 }
  await eventually(async () => {
    const quota = await explainObject(source(), { kind: 'quota', name: 'few', namespace: 'tight' })
    expect(causesOf(quota)).toEqual([])
  })
  await create('deployments', 'slow', {
    ...inTight,
    spec: {
      replicas: 3,
      progressDeadlineSeconds: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { 'skiff.dev/readiness': 'fail' } },
        spec: { containers: [{ ...containers[0], readinessProbe }] },
      },
    },
  })
  const rollout = ['QuotaFull', 'ReadinessProbeFails', 'ProgressDeadlineExceeded']
  await eventually(async () => {
    const answer = await explainObject(source(), {
      kind: 'deploy',
      name: 'slow',
      namespace: 'tight',
    })
    expect(causesOf(answer)).toEqual(rollout)
  })
  await shown(['deploy/slow', '-n', 'tight'], 1, ['pods: 2 of 2 used', 'GET :80/ready'])
  await shown(['quota', 'few', '-n', 'tight'], 1, [
    'Nothing is left of pods (2 of 2)',
    'exceeded quota: few',
  ])
  const { groups } = await explainPending(source(), 'tight')
  expect(groups.map(({ cause }) => cause)).toContain('QuotaFull')
})

test('Jobs that fail and autoscalers without metrics', async () => {
  const annotations = { 'skiff.dev/exit-code': '7' }
  await create('jobs', 'load', {
    spec: {
      backoffLimit: 0,
      template: { metadata: { annotations }, spec: { restartPolicy: 'Never', containers } },
    },
  })
  const labels = { app: 'scaled' }
  await create('deployments', 'scaled', {
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  })
  const target = { type: 'Utilization', averageUtilization: 50 }
  await create('horizontalPodAutoscalers', 'scaled', {
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'scaled' },
      maxReplicas: 3,
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
    },
  })
  await answered('job', 'load', ['BackoffLimitExceeded'])
  await shown(['job', 'load'], 1, ['after 1 failed pod', 'exit code 7'])
  await answered('hpa', 'scaled', ['FailedGetResourceMetric'])
  await shown(['hpa', 'scaled'], 1, ['every container requests the resource'])
  await answered('deploy', 'scaled', [])
})
