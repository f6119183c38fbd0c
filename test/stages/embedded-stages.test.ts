/** Stage files on embedded clusters, in virtual time. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../components/component-base/clock.ts'
import { startScenarioCluster } from '../../library/embedded-scenarios.ts'
import { startCluster } from '../../library/index.ts'
import type { Cluster, KubernetesObject } from '../../library/index.ts'
import { runScenarios } from '../../scenarios/engine/runner.ts'
import { readScenario } from '../../scenarios/engine/scenario.ts'
import { generalStages, nodeStages } from './general-stages.ts'
import { fakeNode, stage, stageFile } from './stages.ts'

const clusters: Cluster[] = []
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.stop()
})

async function started(...stages: readonly string[]): Promise<Cluster> {
  const startAt = new Date('2026-01-01T00:00:00Z')
  const cluster = await startCluster({ nodes: 0, stages, startAt })
  clusters.push(cluster)
  // Time moves when a test advances it.
  await cluster.clock.pause()
  return cluster
}

const podSpec = { containers: [{ name: 'main', image: 'example.com/main' }] }
const pod = (name: string, more: object = {}, metadata: object = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: { ...podSpec, ...more },
})
const job: KubernetesObject = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'once' },
  spec: { template: { spec: { ...podSpec, restartPolicy: 'Never' } } },
}

interface Status extends KubernetesObject {
  readonly status?: {
    readonly phase?: string
    readonly podIP?: string
    readonly succeeded?: number
    readonly conditions?: readonly { type: string; status: string; lastHeartbeatTime?: string }[]
    readonly initContainerStatuses?: readonly { readonly state: object }[]
  }
}
const conditionOf = ({ status }: Status, type: string) =>
  status?.conditions?.find((one) => one.type === type)

describe('the default stages', () => {
  it('keep fake nodes Ready, run the pods on them, complete Jobs and let deleted pods go', async () => {
    const cluster = await started('default')
    const { admin, clock } = cluster
    await cluster.apply(fakeNode('fake-1'), { ...fakeNode('idle'), metadata: { name: 'idle' } })
    await clock.advance('2s')
    await cluster.apply(job, pod('web'), pod('other', { nodeName: 'idle' }))
    await clock.advance('5s')
    const web = await admin.get<Status>({ kind: 'Pod', name: 'web' })
    expect(web).toMatchObject({
      spec: { nodeName: 'fake-1' },
      status: { phase: 'Running', hostIP: '10.0.0.1' },
    })
    const [ofJob] = await admin.list<Status>({ kind: 'Pod', labelSelector: 'job-name=once' })
    expect(ofJob?.status?.podIP).not.toBe(web.status?.podIP)
    expect(await admin.get({ kind: 'Job', name: 'once' })).toMatchObject({
      status: { succeeded: 1 },
    })
    expect(await admin.get({ kind: 'Pod', name: 'other' })).toMatchObject({
      status: { phase: 'Pending' },
    })
    // Without its lease, the node would be lost after 50 s.
    await clock.advance('2m')
    const node = await admin.get<Status>({ kind: 'Node', name: 'fake-1' })
    expect(conditionOf(node, 'Ready')).toMatchObject({ status: 'True' })
    const idle = await admin.get<Status>({ kind: 'Node', name: 'idle' })
    expect(conditionOf(idle, 'Ready')?.status).not.toBe('True')
    await admin.delete({ kind: 'Pod', name: 'web' })
    await clock.advance('1s')
    expect((await admin.list({ kind: 'Pod' })).map(({ metadata }) => metadata?.name)).not.toContain(
      'web',
    )
  })
})

describe('stages with delays', () => {
  it('take a pod from state to state as kwok’s general stages do', async () => {
    const cluster = await started(stageFile(...nodeStages, ...generalStages))
    const { admin, clock } = cluster
    await cluster.apply(fakeNode('fake-1'))
    await clock.advance('2s')
    const heartbeat = async () =>
      conditionOf(await admin.get<Status>({ kind: 'Node', name: 'fake-1' }), 'Ready')
    const first = await heartbeat()
    expect(first).toMatchObject({ status: 'True' })
    const one = (seconds: number) => `${seconds}s`
    const annotations = {
      'pod-create/delay': one(2),
      'pod-create/jitter-delay': one(2),
      'pod-init-running/delay': one(3),
      'pod-init-running/jitter-delay': one(3),
      'pod-init-completed/delay': one(4),
      'pod-init-completed/jitter-delay': one(4),
      'pod-ready/delay': one(5),
      'pod-ready/jitter-delay': one(5),
    }
    const initContainers = [{ name: 'first', image: 'example.com/first' }]
    await cluster.apply(
      pod('slow', { initContainers }, { annotations, finalizers: ['example.com/stage'] }),
    )
    const states: string[] = []
    for (const step of ['1s', '2s', '3s', '4s', '5s'] as const) {
      await clock.advance(step)
      const { status } = await admin.get<Status>({ kind: 'Pod', name: 'slow' })
      const [init] = status?.initContainerStatuses ?? []
      states.push([status?.phase, ...Object.keys(init?.state ?? {})].join(' '))
    }
    expect(states).toEqual([
      'Pending',
      'Pending waiting',
      'Pending running',
      'Pending terminated',
      'Running terminated',
    ])
    await admin.delete({ kind: 'Pod', name: 'slow' })
    // Between one second and the end of its grace period.
    await clock.advance('31s')
    expect(await admin.list({ kind: 'Pod' })).toEqual([])
    const events = await admin.list({ kind: 'Event', fieldSelector: 'involvedObject.name=slow' })
    const atMs = Date.parse((await heartbeat())?.lastHeartbeatTime ?? '')
    expect(atMs - Date.parse(first?.lastHeartbeatTime ?? '')).toBe(40_000)
    const reasons = events.map(({ reason }) => String(reason))
    expect(reasons).toEqual(expect.arrayContaining(['Created', 'Killing']))
  })

  it('begin anew when the object changes, and not at all when it no longer matches', async () => {
    const cluster = await started(
      stageFile(
        stage(
          'done',
          `resourceRef: { apiGroup: v1, kind: ConfigMap }
selector:
  matchLabels: { wait: 'yes' }
delay: { durationMilliseconds: 10000 }
steps:
  - patch: { template: 'data: { done: "{{ .data.round }}" }' }
  - patch: { type: json, root: metadata, template: '[{ op: remove, path: /labels/wait }]' }`,
        ),
      ),
    )
    const { admin, clock } = cluster
    const map = (round: string, labels: Record<string, string>) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'm', labels },
      data: { round },
    })
    const done = async () =>
      (await admin.get<KubernetesObject & { data: object }>({ kind: 'ConfigMap', name: 'm' })).data
    await cluster.apply(map('1', { wait: 'yes' }))
    await clock.advance('9s')
    await cluster.apply(map('2', { wait: 'yes' }))
    await clock.advance('9s')
    expect(await done()).toEqual({ round: '2' })
    await cluster.apply(map('3', {}))
    await clock.advance('1m')
    expect(await done()).toEqual({ round: '3' })
    await cluster.apply(map('4', { wait: 'yes' }))
    await clock.advance('11s')
    expect(await done()).toEqual({ round: '4', done: '4' })
  })
})

const definition: KubernetesObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'rockets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Rocket', plural: 'rockets', singular: 'rocket' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { pad: { type: 'string' } } },
              status: {
                type: 'object',
                properties: { phase: { type: 'string' }, launches: { type: 'integer' } },
              },
            },
          },
        },
      },
    ],
  },
}
const rocketStages = [
  stage(
    'fuel',
    `resourceRef: { apiGroup: example.com/v1, kind: Rocket }
selector:
  matchExpressions:
    - cel: { expression: '!has(self.status)' }
immediateNextStage: true
steps:
  - finalizers: { add: [{ value: example.com/pad }] }
  - event: { type: Normal, reason: Fuelled, message: ready to go }
  - patch: { subresource: status, root: status, template: 'phase: Fuelled' }`,
  ),
  stage(
    'launch',
    `resourceRef: { apiGroup: example.com/v1, kind: Rocket }
selector:
  matchExpressions:
    - cel: { expression: 'has(self.status) && self.status.phase == "Fuelled"' }
steps:
  - apply:
      template: |
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: log-of-{{ .metadata.name }}
        data:
          pad: {{ .spec.pad | Quote }}
  - patch:
      subresource: status
      root: status
      type: merge
      impersonation: { username: mission-control }
      template: |
        phase: Launched
        launches: {{ add 1 (default 0 .status.launches) }}`,
  ),
]

describe('stages of a custom kind', () => {
  it('wait for its definition, act as the user that they name, and with the rights of their kinds alone', async () => {
    const cluster = await started(stageFile(...rocketStages))
    const { admin, clock } = cluster
    const rbac = 'rbac.authorization.k8s.io'
    await cluster.apply(
      definition,
      {
        apiVersion: `${rbac}/v1`,
        kind: 'ClusterRole',
        metadata: { name: 'mission-control' },
        rules: [{ apiGroups: ['example.com'], resources: ['rockets/status'], verbs: ['patch'] }],
      },
      {
        apiVersion: `${rbac}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name: 'mission-control' },
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'mission-control' },
        subjects: [{ apiGroup: rbac, kind: 'User', name: 'mission-control' }],
      },
    )
    await admin.create({
      apiVersion: 'example.com/v1',
      kind: 'Rocket',
      metadata: { name: 'r' },
      spec: { pad: 'A' },
    })
    await clock.advance('20s')
    const rocket = await admin.get({ apiVersion: 'example.com/v1', kind: 'Rocket', name: 'r' })
    expect(rocket).toMatchObject({
      metadata: { finalizers: ['example.com/pad'] },
      status: { phase: 'Launched', launches: 1 },
    })
    expect(await admin.get({ kind: 'ConfigMap', name: 'log-of-r' })).toMatchObject({
      data: { pad: 'A' },
    })
    const runner = cluster.client({ user: 'system:stage-runner' })
    await expect(
      runner.list({ kind: 'Rocket', apiVersion: 'example.com/v1' }),
    ).resolves.toHaveLength(1)
    await expect(runner.list({ kind: 'Secret' })).rejects.toMatchObject({ reason: 'Forbidden' })
    const role = await admin.get({
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      name: 'system:stage-runner',
    })
    expect(role['rules']).toContainEqual({
      apiGroups: [''],
      resources: ['users'],
      verbs: ['impersonate'],
      resourceNames: ['mission-control'],
    })
  })
})

describe('a stage that fails', () => {
  it('is logged with its place, and stages that go in circles wait', async () => {
    const cluster = await started(
      stageFile(
        stage(
          'bad',
          `resourceRef: { apiGroup: v1, kind: ConfigMap }
selector: { matchLabels: { stage: bad } }
steps:
  - patch:
      template: |
        data:
          x: {{ index .data.list 3 }}`,
        ),
        stage(
          'circle',
          `resourceRef: { apiGroup: v1, kind: ConfigMap }
selector: { matchLabels: { stage: circle } }
immediateNextStage: true
steps:
  - patch: { template: 'data: { n: "{{ add1 .data.n }}" }' }`,
        ),
      ),
    )
    const map = (name: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, labels: { stage: name } },
      data: { n: '0' },
    })
    await cluster.apply(map('bad'), map('circle'))
    await cluster.clock.advance('2500ms')
    const log = (await cluster.logs('stage-runner')).join('\n')
    expect(log).toMatch(/a stage failed.*stages\.yaml:11: template: index: index of nothing/)
    expect(log).toContain('stages go in circles without a delay')
    const { data } = await cluster.admin.get<KubernetesObject & { data: { n: string } }>({
      kind: 'ConfigMap',
      name: 'circle',
    })
    expect(Number(data.n)).toBeGreaterThan(100)
    expect(Number(data.n)).toBeLessThan(400)
  })
})

it('a scenario names its Stage files, and one that is wrong keeps its cluster from starting', async () => {
  const file = stageFile(...generalStages)
  const folder = dirname(file)
  const scenario = (stages: string) =>
    `description: d
cluster: { nodes: 0, stages: [${stages}] }
steps:
  - create: ${JSON.stringify(fakeNode('fake-1'))}
  - create: ${JSON.stringify(pod('web', { nodeName: 'fake-1' }))}
  - expect: { kind: Pod, name: web, where: status.phase == Running, within: 20s }
`
  writeFileSync(join(folder, 'bad.yaml'), 'kind: Stage\napiVersion: v1\n')
  writeFileSync(join(folder, 'a.yaml'), scenario('stages.yaml'))
  writeFileSync(join(folder, 'b.yaml'), scenario('bad.yaml'))
  const [good, bad] = await runScenarios(
    ['a.yaml', 'b.yaml'].map((name) => readScenario(join(folder, name))),
    {
      clock: systemClock,
      signal: new AbortController().signal,
      stateRoot: folder,
      startEmbedded: startScenarioCluster,
      keep: false,
    } as never,
  )
  expect(good).toMatchObject({ outcome: 'passed' })
  expect(bad?.failure.join('\n')).toContain(
    'bad.yaml:1: apiVersion v1 is not kwok.x-k8s.io/v1alpha1',
  )
})
