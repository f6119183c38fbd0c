/** `skiff why` against a real API server: kinds by discovery, what is read, what may not be read, and owners. */
import { expect, it } from 'vitest'
import { explainObject } from '../../../cluster/why/explain-object.ts'
import { explainPending } from '../../../cluster/why/explain-pending.ts'
import type { Source } from '../../../cluster/why/read-related.ts'
import type { SchedulerAnswer } from '../../../cluster/why/related.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { createClient, type Client } from '../../../components/client/client.ts'
import type { TestApiServer } from '../../support/api-server.ts'
import { describeDialects } from '../../support/shared-server.ts'

const containers = [{ name: 'app', image: 'app' }]

/** Answers of a scheduler that is not there, and the pods that it was asked about. */
function fakeScheduler(answer: SchedulerAnswer = { kind: 'silent', why: 'it is stopped' }) {
  const asked: string[] = []
  return {
    asked,
    askScheduler: (key: string) => {
      asked.push(key)
      return Promise.resolve(answer)
    },
  }
}

async function withClient<T>(
  server: TestApiServer,
  user: { user: string; groups?: string[] },
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const credential = server.credential({ groups: [], ...user })
  const client = createClient({
    server: `https://127.0.0.1:${server.port}`,
    ca: server.pki.authority.certificatePem,
    credentials: { cert: credential?.certificatePem ?? '', key: credential?.privateKeyPem ?? '' },
    dialect: server.dialect,
  })
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

const operator = { user: 'operator', groups: ['system:masters'] }
const nowMs = Date.parse('2026-11-22T12:00:00Z')

describeDialects('objects', (server) => {
  const source = (client: Client, scheduler = fakeScheduler()): Source => ({
    client,
    nowMs,
    askScheduler: scheduler.askScheduler,
  })
  const explained = (
    namespace: string,
    kind: string,
    name: string,
    more: {
      as?: { user: string; groups?: string[] }
      scheduler?: ReturnType<typeof fakeScheduler>
    } = {},
  ) =>
    withClient(server(), more.as ?? operator, (client) =>
      explainObject(source(client, more.scheduler), { kind, name, namespace }),
    )
  const create = async (namespace: string, plural: string, body: object) =>
    await server().ok('POST', `/api/v1/namespaces/${namespace}/${plural}`, { body })

  /** Gives a user a Role in the namespace. */
  async function allow(namespace: string, user: string, rules: readonly object[]): Promise<void> {
    const group = server().group('rbac.authorization')
    const path = `/apis/${group}/v1/namespaces/${namespace}`
    await server().ok('POST', `${path}/roles`, { body: { metadata: { name: user }, rules } })
    await server().ok('POST', `${path}/rolebindings`, {
      body: {
        metadata: { name: user },
        roleRef: { apiGroup: group, kind: 'Role', name: user },
        subjects: [{ apiGroup: group, kind: 'User', name: user }],
      },
    })
  }

  it.each(['po', 'pod', 'pods', 'Pod', 'pods.', 'PODS'])(
    '%s is a kind, as kubectl takes it',
    async (kind) => {
      const namespace = await server().namespace()
      await create(namespace, 'pods', { metadata: { name: 'a' }, spec: { containers } })
      const answer = await explained(namespace, kind, 'a')
      expect(answer.object).toMatchObject({ apiVersion: 'v1', kind: 'Pod', namespace, name: 'a' })
      expect(answer.findings.map(({ cause }) => cause)).toEqual(['SchedulerNotRunning'])
      expect(answer.notRead).toEqual(['the scheduler: it is stopped'])
      expect(answer.isFine).toBe(false)
    },
  )

  it('kinds with their group and version, in the version that shows most', async () => {
    const namespace = await server().namespace()
    await server().ok(
      'POST',
      `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`,
      {
        body: {
          metadata: { name: 's' },
          spec: { maxReplicas: 2, scaleTargetRef: { kind: 'Deployment', name: 'web' } },
        },
      },
    )
    for (const kind of ['hpa', 'hpa.autoscaling', 'horizontalpodautoscalers.v1.autoscaling']) {
      const { object, findings } = await explained(namespace, kind, 's')
      expect(object.apiVersion).toBe('autoscaling/v2')
      expect(findings.map(({ cause }) => cause)).toEqual(['NotObserved'])
    }
  })

  it('an unknown kind and an unknown name say what to do', async () => {
    await expect(explained('default', 'podz', 'a')).rejects.toMatchObject({
      kind: 'usage',
      message: 'the server has no kind "podz"',
      hint: 'did you mean pods? To explain a request, pass --as USER',
    })
    await expect(explained('default', 'configmaps.apps', 'a')).rejects.toMatchObject({
      kind: 'usage',
    })
    await expect(explained('default', 'cm', 'nope')).rejects.toMatchObject({
      kind: 'not-found',
      message: 'there is no configmap "nope" in namespace default',
      hint: 'see: kubectl get configmaps -A',
    })
    await expect(explained('default', 'no', 'nope')).rejects.toMatchObject({
      message: 'there is no node "nope"',
    })
  })

  it('what may not be read is one line each, and the rest is answered', async () => {
    const namespace = await server().namespace()
    await create(namespace, 'services', {
      metadata: { name: 'web' },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    })
    await allow(namespace, 'ann', [
      { apiGroups: [''], resources: ['services', 'pods'], verbs: ['get', 'list'] },
    ])
    const answer = await explained(namespace, 'svc', 'web', { as: { user: 'ann' } })
    expect(answer.findings.map(({ cause }) => cause)).toEqual(['SelectorMatchesNothing'])
    expect(answer.notRead).toEqual([
      expect.stringMatching(/^endpointslices\.discovery\.\S+ in namespace \S+: .*forbidden/),
      expect.stringMatching(/^events in namespace \S+: .*forbidden/),
      expect.stringMatching(/^nodes: .*forbidden/),
    ])
    await expect(explained(namespace, 'pvc', 'x', { as: { user: 'ann' } })).rejects.toThrow(
      'forbidden',
    )
  })

  it('owners are followed to the top, and one that is gone is said to be', async () => {
    const namespace = await server().namespace()
    const top = await create(namespace, 'configmaps', {
      metadata: {
        name: 'top',
        ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: 'gone', uid: 'u-gone' }],
      },
    })
    const { uid } = (top as { metadata: { uid: string } }).metadata
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'top', uid }]
    await create(namespace, 'configmaps', { metadata: { name: 'low', ownerReferences } })
    const answer = await explained(namespace, 'cm', 'low')
    expect(answer).toMatchObject({ isFine: true, findings: [] })
    expect(answer.owners.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'ConfigMap top',
      'Secret gone',
    ])
    expect(answer.notRead).toEqual(['the owner Secret gone: it does not exist'])
    const stale = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'top', uid: 'u-before' }]
    await create(namespace, 'configmaps', { metadata: { name: 'left', ownerReferences: stale } })
    const { notRead } = await explained(namespace, 'cm', 'left')
    expect(notRead).toEqual(['the owner ConfigMap top: another object has that name now'])
  })

  it('an object that two lists hold counts once', async () => {
    const namespace = await server().namespace()
    const labels = { app: 'web' }
    await create(namespace, 'pods', { metadata: { name: 'a', labels }, spec: { containers } })
    await create(namespace, 'services', {
      metadata: { name: 'web' },
      spec: { selector: labels, ports: [{ port: 80 }] },
    })
    const { findings } = await explained(namespace, 'svc', 'web')
    expect(findings[0]?.message).toContain('None of 1 pod that the Service selects is ready.')
  })

  it('a claim that is being deleted names the pods that use it', async () => {
    const namespace = await server().namespace()
    const finalizers = ['example.com/x']
    await create(namespace, 'persistentvolumeclaims', {
      metadata: {
        name: 'data',
        finalizers: [`${server().dialect.labelDomain}/pvc-protection`, ...finalizers],
      },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    })
    await create(namespace, 'pods', {
      metadata: { name: 'user' },
      spec: {
        containers,
        nodeName: 'node-1',
        volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'data' } }],
      },
    })
    const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/data`
    await server().ok('DELETE', path)
    const { findings } = await explained(namespace, 'pvc', 'data')
    expect(findings[0]?.next).toEqual([
      `delete what remains, or wait for its end: pod/user -n ${namespace}`,
    ])
  })

  it('a namespace that ends lists what is in it, by discovery', async () => {
    const namespace = await server().namespace()
    await create(namespace, 'configmaps', {
      metadata: { name: 'held', finalizers: ['example.com/x'] },
    })
    await server().ok('DELETE', `/api/v1/namespaces/${namespace}`)
    const { isFine, findings, notRead } = await explained('', 'ns', namespace)
    expect(isFine).toBe(false)
    expect(findings.map(({ cause }) => cause)).toEqual(['Finalizer'])
    expect(findings[0]?.evidence.map(({ object: { kind, name } }) => `${kind} ${name}`)).toContain(
      'ConfigMap held',
    )
    expect(notRead).toEqual([])
  })

  it('a deletion in the foreground lists the dependents, also those in namespaces', async () => {
    const namespace = await server().namespace()
    const rbac = server().group('rbac.authorization')
    const path = `/apis/${rbac}/v1/clusterroles`
    const owner = (await server().ok('POST', path, {
      body: { metadata: { name: namespace }, rules: [] },
    })) as { metadata: { uid: string } }
    const reference = {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      name: namespace,
      uid: owner.metadata.uid,
      blockOwnerDeletion: true,
    }
    await create(namespace, 'configmaps', {
      metadata: { name: 'child', ownerReferences: [reference], finalizers: ['example.com/x'] },
    })
    await create(namespace, 'configmaps', { metadata: { name: 'other' } })
    await server().ok('DELETE', `${path}/${namespace}`, {
      body: { propagationPolicy: 'Foreground' },
    })
    const { findings, notRead, state } = await explained('', 'clusterrole', namespace)
    expect(state).toMatch(/^Terminating since /)
    expect(findings.map(({ cause }) => cause)).toEqual(['Finalizer'])
    const objects = findings[0]?.evidence.map(({ object: { kind, name } }) => `${kind} ${name}`)
    expect(objects).toEqual([`ClusterRole ${namespace}`, 'ConfigMap child'])
    expect(findings[0]?.next).toEqual([
      `see what holds the first of them: skiff why configmap/child -n ${namespace}`,
    ])
    expect(notRead).toEqual([])
  })

  it('a namespace with more of a kind than is shown says so', async () => {
    const namespace = await server().namespace()
    const names = Array.from({ length: 101 }, (_, index) => `c${index}`)
    await Promise.all(names.map((name) => create(namespace, 'configmaps', { metadata: { name } })))
    await server().ok('DELETE', `/api/v1/namespaces/${namespace}`)
    const { notRead } = await explained('', 'ns', namespace)
    expect(notRead).toEqual([`configmaps in namespace ${namespace}: only the first 100 were read`])
  })

  it('lists are bounded, and a list that was cut is named', async () => {
    const namespace = await server().namespace()
    const names = Array.from({ length: 501 }, (_, index) => `p${index}`)
    await Promise.all(
      names.map((name) => create(namespace, 'pods', { metadata: { name }, spec: { containers } })),
    )
    const scheduler = fakeScheduler({ kind: 'not-waiting' })
    const answer = await withClient(server(), operator, (client) =>
      explainPending(source(client, scheduler), namespace),
    )
    expect(answer.notRead).toEqual([`pods in namespace ${namespace}: only the first 500 were read`])
    expect(answer.groups.map(({ cause, objects }) => [cause, objects.length])).toEqual([
      ['NotYetScheduled', 500],
    ])
    // The pods that a Service selects are found among any number of others.
    const labels = { app: 'last' }
    await create(namespace, 'pods', { metadata: { name: 'zz', labels }, spec: { containers } })
    await create(namespace, 'services', {
      metadata: { name: 'last' },
      spec: { selector: labels, ports: [{ port: 80 }] },
    })
    const { findings } = await explained(namespace, 'svc', 'last')
    expect(findings[0]?.message).toContain('None of 1 pod that the Service selects is ready.')
    // One pod speaks for all that are alike.
    expect(scheduler.asked).toHaveLength(1)
  })

  it('pending pods are grouped by cause, and owners that could not create pods are among them', async () => {
    const namespace = await server().namespace()
    const { replicaSets } = resourcesOf(server().dialect)
    await create(namespace, 'pods', {
      metadata: { name: 'a' },
      spec: { containers, schedulingGates: [{ name: 'example.com/g' }] },
    })
    await create(namespace, 'pods', { metadata: { name: 'b' }, spec: { containers } })
    await create(namespace, 'pods', { metadata: { name: 'c' }, spec: { containers } })
    const set = await withClient(server(), operator, (client) =>
      client.resource(replicaSets).create({
        metadata: { name: 'web', namespace },
        spec: {
          replicas: 1,
          selector: { matchLabels: { app: 'web' } },
          template: { metadata: { labels: { app: 'web' } }, spec: { containers } },
        },
      }),
    )
    const involvedObject = {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      namespace,
      name: 'web',
      uid: set.metadata.uid,
    }
    await create(namespace, 'events', {
      metadata: { name: 'e' },
      involvedObject,
      type: 'Warning',
      reason: 'FailedCreate',
      message: 'denied by a webhook',
    })
    // An owner of Jobs, not of pods.
    await server().ok('POST', `/apis/batch/v1/namespaces/${namespace}/cronjobs`, {
      body: {
        metadata: { name: 'sync' },
        spec: {
          schedule: '* * * * *',
          jobTemplate: {
            spec: { template: { spec: { restartPolicy: 'Never', containers } } },
          },
        },
      },
    })
    await create(namespace, 'events', {
      metadata: { name: 'f' },
      involvedObject: { apiVersion: 'batch/v1', kind: 'CronJob', namespace, name: 'sync' },
      type: 'Warning',
      reason: 'FailedCreate',
      message: 'Error creating job',
    })
    const scheduler = fakeScheduler({
      kind: 'answered',
      explanation: { schedulerName: 'default-scheduler', nodes: [], message: 'no nodes' },
    })
    const { groups } = await withClient(server(), operator, (client) =>
      explainPending(source(client, scheduler), namespace),
    )
    const seen = groups.map(({ cause, objects }) => [
      cause,
      objects.map(({ name }) => name).toSorted(),
    ])
    expect(seen).toEqual([
      ['Unschedulable', ['b', 'c']],
      ['SchedulingGated', ['a']],
      ['PodsNotCreated', ['web']],
    ])
    const empty = await server().namespace()
    const none = await withClient(server(), operator, (client) =>
      explainPending(source(client), empty),
    )
    expect(none).toEqual({ isFine: true, groups: [], notRead: [] })
  })

  const pendingFor = (namespace: string, user: string) =>
    withClient(server(), { user }, (client) => explainPending(source(client), namespace))

  it('one owner that may not be read does not hide the others', async () => {
    const namespace = await server().namespace()
    const body = {
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'web' } },
        template: { metadata: { labels: { app: 'web' } }, spec: { containers } },
      },
    }
    for (const [kind, plural] of [
      ['ReplicaSet', 'replicasets'],
      ['StatefulSet', 'statefulsets'],
    ] as const) {
      const made = (await server().ok('POST', `/apis/apps/v1/namespaces/${namespace}/${plural}`, {
        body: { metadata: { name: plural }, ...body },
      })) as { metadata: { uid: string } }
      const { uid } = made.metadata
      await create(namespace, 'events', {
        metadata: { name: plural },
        involvedObject: { apiVersion: 'apps/v1', kind, namespace, name: plural, uid },
        type: 'Warning',
        reason: 'FailedCreate',
        message: 'denied by a webhook',
      })
    }
    await allow(namespace, 'bea', [
      { apiGroups: [''], resources: ['pods', 'events'], verbs: ['list'] },
      { apiGroups: ['apps'], resources: ['statefulsets'], verbs: ['get'] },
    ])
    const { groups, notRead } = await pendingFor(namespace, 'bea')
    expect(groups.flatMap(({ objects }) => objects.map(({ kind }) => kind))).toEqual([
      'StatefulSet',
    ])
    expect(notRead).toContainEqual(
      expect.stringMatching(/^the owner ReplicaSet replicasets: .*forbidden/),
    )
  })

  it('without a right to the pods, nothing is said to be fine', async () => {
    const namespace = await server().namespace()
    const answer = await pendingFor(namespace, 'carl')
    expect(answer).toMatchObject({ isFine: false, groups: [] })
    expect(answer.notRead).toContainEqual(expect.stringMatching(/^pods in namespace .*forbidden/))
    await create(namespace, 'services', {
      metadata: { name: 'web' },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    })
    await allow(namespace, 'carl', [{ apiGroups: [''], resources: ['services'], verbs: ['get'] }])
    const { findings, notRead } = await explained(namespace, 'svc', 'web', { as: { user: 'carl' } })
    expect(findings).toEqual([])
    expect(notRead.filter((line) => line.startsWith('pods in'))).toHaveLength(1)
  })

  it('a group whose pods wait for different things names the one that it shows', async () => {
    const namespace = await server().namespace()
    for (const name of ['a', 'b']) {
      const volumes = [{ name: 'd', persistentVolumeClaim: { claimName: `data-${name}` } }]
      await create(namespace, 'pods', { metadata: { name }, spec: { containers, volumes } })
    }
    const scheduler = fakeScheduler()
    const { groups } = await withClient(server(), operator, (client) =>
      explainPending(source(client, scheduler), namespace),
    )
    expect(groups.map(({ cause, objects }) => [cause, objects.length])).toEqual([
      ['MissingClaim', 2],
    ])
    expect(groups[0]?.message).toMatch(
      new RegExp(`^Pod ${namespace}/[ab]: The pod uses the PersistentVolumeClaim data-[ab], `),
    )
    // What keeps the pods from a node is known, so the scheduler is not asked.
    expect(scheduler.asked).toEqual([])
  })
})
