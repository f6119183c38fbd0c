/** Plugins that take a configuration: what they do by it, on a server that reads it from a file, and every fault by its place. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { startReviewRemote, type ReviewRemote } from '../../support/review-remote.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { admissionWorld } from './world.ts'

type Json = Record<string, unknown>

const inA = (name: string, more: object = {}): KubeObject => ({
  metadata: { name, namespace: 'a' },
  ...more,
})
const pod = (spec: object = {}): KubeObject => inA('p', { spec: { containers: [], ...spec } })

describe('PodNodeSelector', () => {
  const world = (annotation?: string) => {
    const made = admissionWorld(['PodNodeSelector'], {
      settings: {
        PodNodeSelector: new Map([
          ['clusterDefaultNodeSelector', 'pool=general'],
          ['a', 'pool=general,zone=x'],
        ]),
      },
    })
    const annotations =
      annotation === undefined ? {} : { 'scheduler.alpha.kubernetes.io/node-selector': annotation }
    for (const name of ['a', 'b']) {
      made.reader.put(made.resources.namespaces, { metadata: { name, annotations } })
    }
    const { pods: resource } = made.resources
    return {
      selectorOf: async (spec?: object) =>
        (await made.admit({ resource, object: pod(spec) }))?.['spec'].nodeSelector as unknown,
      why: (spec?: object, namespace = 'a') => {
        const { metadata, ...rest } = pod(spec)
        return made.outcome({ resource, object: { ...rest, metadata: { ...metadata, namespace } } })
      },
    }
  }

  test('pods get the selector of their namespace, or else of the cluster', async () => {
    expect(await world().selectorOf()).toEqual({ pool: 'general' })
    expect(await world('pool=general, zone=x').selectorOf()).toEqual({ pool: 'general', zone: 'x' })
    expect(await world('').selectorOf()).toBeUndefined()
    expect(await world('').selectorOf({ nodeSelector: { zone: 'x' } })).toEqual({ zone: 'x' })
  })

  test('and are rejected when theirs conflicts, or is not allowed', async () => {
    expect(await world('zone=x').why({ nodeSelector: { zone: 'y' } })).toBe(
      '403 pods "p" is forbidden: pod node label selector conflicts with its namespace node label selector',
    )
    expect(await world('').why({ nodeSelector: { disk: 'ssd' } })).toBe(
      '403 pods "p" is forbidden: pod node label selector labels conflict with its namespace whitelist',
    )
    expect(await world('').why({ nodeSelector: { disk: 'ssd' } }, 'b')).toBe('admitted')
    expect(await world('not a selector').why()).toBe('500 invalid selector: not a selector')
    expect(await world().why({}, 'gone')).toBe('404 namespaces "gone" not found')
  })
})

describe('PodTolerationRestriction', () => {
  const exists = (key: string, more: object = {}) => ({ key, operator: 'Exists', ...more })
  const world = (annotations: Record<string, object | string> = {}, settings?: object) => {
    const made = admissionWorld(['PodTolerationRestriction'], {
      settings: settings === undefined ? {} : { PodTolerationRestriction: settings as never },
    })
    const texts = Object.entries(annotations).map(([key, value]) => [
      `scheduler.alpha.kubernetes.io/${key}`,
      typeof value === 'string' ? value : JSON.stringify(value),
    ])
    const metadata = { name: 'a', annotations: Object.fromEntries(texts) as Record<string, string> }
    made.reader.put(made.resources.namespaces, { metadata })
    const { pods: resource } = made.resources
    return {
      tolerations: async (own: object[] = [], spec: object = {}) =>
        (await made.admit({ resource, object: pod({ tolerations: own, ...spec }) }))?.['spec']
          .tolerations as unknown,
      why: (own: object[]) => made.outcome({ resource, object: pod({ tolerations: own }) }),
    }
  }
  const cluster = { defaults: [exists('cluster')], allowed: [exists('cluster'), exists('x')] }

  test('pods get the default tolerations of their namespace, or else of the cluster', async () => {
    const own = world({ defaultTolerations: [exists('x')] }, { ...cluster, allowed: [] })
    expect(await own.tolerations([exists('y')])).toEqual([exists('x'), exists('y')])
    expect(await world({}, cluster).tolerations()).toEqual([exists('cluster')])
    expect(await world({ defaultTolerations: '' }, cluster).tolerations()).toEqual([])
    expect(await world().tolerations()).toEqual([])
  })

  test('one that another covers is left out', async () => {
    const { tolerations } = world({ defaultTolerations: [exists('x')] })
    expect(await tolerations([{ key: 'x', operator: 'Equal', value: 'v' }])).toEqual([exists('x')])
    expect(await tolerations([{ operator: 'Exists' }])).toEqual([{ operator: 'Exists' }])
    const short = exists('x', { effect: 'NoExecute', tolerationSeconds: 5 })
    const long = exists('x', { effect: 'NoExecute', tolerationSeconds: 9 })
    expect(await world().tolerations([short, long])).toEqual([long])
  })

  test('a pod that is not of best effort tolerates memory pressure', async () => {
    const containers = [{ name: 'c', resources: { requests: { cpu: '1' } } }]
    const key = 'node.kubernetes.io/memory-pressure'
    expect(await world().tolerations([], { containers })).toEqual([
      exists(key, { effect: 'NoSchedule' }),
    ])
  })

  test('only tolerations that are allowed are admitted', async () => {
    const conflict = (scope: string) =>
      `500 pod tolerations (possibly merged with namespace default tolerations) conflict with its ${scope} whitelist`
    expect(await world({}, cluster).why([exists('x', { effect: 'NoSchedule' })])).toBe('admitted')
    expect(await world({}, cluster).why([exists('y')])).toBe(conflict('cluster'))
    const own = world({ tolerationsWhitelist: [exists('y')] }, { ...cluster, defaults: [] })
    expect(await own.why([exists('y')])).toBe('admitted')
    expect(await own.why([exists('x')])).toBe(conflict('namespace'))
    expect(await world({ tolerationsWhitelist: '{}' }).why([exists('x')])).toContain(
      '500 json: cannot unmarshal',
    )
  })
})

describe('EventRateLimit', () => {
  const event = (name: string, component = 'c', namespace = 'a'): KubeObject =>
    ({
      metadata: { name, namespace },
      source: { component },
      involvedObject: { kind: 'Pod', namespace, name: 'p' },
    }) as unknown as KubeObject
  const world = (...limits: object[]) => {
    const made = admissionWorld(['EventRateLimit'], {
      settings: { EventRateLimit: limits as never },
    })
    const create = (object: KubeObject, more: object = {}) =>
      made.outcome({ resource: made.resources.events, object, ...more })
    return { ...made, create }
  }
  const limit = (type: string, more: object = {}) => ({
    type,
    qps: 1,
    burst: 2,
    cacheSize: 2,
    ...more,
  })
  const reached = (type: string, key: string): string =>
    `429 Too many requests: limit reached on type ${type} for key ${key}`

  test('rejects beyond the burst, and accepts again at the rate', async () => {
    const { create, clock } = world(limit('Server'))
    for (const name of ['x', 'y']) expect(await create(event(name))).toBe('admitted')
    expect(await create(event('z'))).toBe(reached('Server', ''))
    await clock.step(1000)
    expect(await create(event('z'))).toBe('admitted')
    expect(await create(event('z'))).toBe(reached('Server', ''))
  })

  test('by namespace, user, or source and object', async () => {
    const burst = { burst: 1 }
    const { create } = world(limit('Namespace', burst))
    expect(await create(event('x'))).toBe('admitted')
    expect(await create(event('x', 'c', 'b'))).toBe('admitted')
    expect(await create(event('x'))).toBe(reached('Namespace', 'a'))
    const users = world(limit('User', burst))
    const joe = { user: { name: 'joe', groups: [] } }
    expect(await users.create(event('x'))).toBe('admitted')
    expect(await users.create(event('x'), joe)).toBe('admitted')
    expect(await users.create(event('x'), joe)).toBe(reached('User', 'joe'))
    const sources = world(limit('SourceAndObject', burst))
    expect(await sources.create(event('x'))).toBe('admitted')
    expect(await sources.create(event('x', 'd'))).toBe('admitted')
    expect(await sources.create(event('x', 'd'))).toBe(reached('SourceAndObject', 'dPodap'))
  })

  test('the error names the last limit that was reached', async () => {
    const { create } = world(limit('Server', { burst: 1 }), limit('User', { burst: 1 }))
    await create(event('x'))
    expect(await create(event('x'))).toBe(reached('User', 'jane'))
  })

  test('keeps no more buckets than it may', async () => {
    const { create } = world(limit('Namespace', { burst: 1 }))
    for (const ns of ['a', 'b', 'c']) expect(await create(event('x', 'c', ns))).toBe('admitted')
    // The bucket of `a` was dropped, and is full again.
    expect(await create(event('x', 'c', 'a'))).toBe('admitted')
    expect(await create(event('x', 'c', 'c'))).toBe(reached('Namespace', 'c'))
  })

  test('counts neither dry runs nor other kinds', async () => {
    const { create, outcome, resources } = world(limit('Server', { burst: 1 }))
    expect(await create(event('x'), { dryRun: true })).toBe('admitted')
    expect(await outcome({ resource: resources.pods, object: pod() })).toBe('admitted')
    expect(await create(event('x'))).toBe('admitted')
  })
})

describe('on a server', () => {
  let remote: ReviewRemote
  let folder: string
  beforeAll(async () => {
    remote = await startReviewRemote()
    folder = temporaryFolder('configured-plugins')
  })
  afterAll(() => remote[Symbol.asyncDispose]())

  let files = 0
  /** Flags that enable the plugins and configure them. */
  function flags(plugins: Readonly<Record<string, unknown>>, enable = Object.keys(plugins)) {
    const path = join(folder, `admission-${(files += 1)}.json`)
    const entries = Object.entries(plugins).map(([name, configuration]) => ({
      name,
      configuration,
    }))
    const content = {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AdmissionConfiguration',
      plugins: entries,
    }
    writeFileSync(path, JSON.stringify(content))
    return [
      `--admission-control-config-file=${path}`,
      `--enable-admission-plugins=${enable.join(',')}`,
      '--disable-admission-plugins=ServiceAccount',
    ]
  }
  const create = (server: TestApiServer, ns: string, name: string, more: Json = {}) =>
    server.request('POST', `/api/v1/namespaces/${ns}/pods`, {
      body: { metadata: { name, ...more }, spec: { containers: [{ name: 'c', image: name }] } },
    })

  it('images run as the webhook says, whose answers are cached', async () => {
    const imagePolicy = { kubeConfigFile: remote.kubeconfig(folder), defaultAllow: true }
    await using server = await startApiServer({
      flags: flags({ ImagePolicyWebhook: { imagePolicy } }),
    })
    const ns = await server.namespace()
    const annotations = { 'me.image-policy.k8s.io/ticket': '7', other: 'x' }
    const auditAnnotations = { seen: 'yes' }
    remote.answer = ({ spec }) => ({
      status:
        spec.containers[0].image === 'bad'
          ? { allowed: false, reason: 'not signed' }
          : { allowed: true, auditAnnotations },
    })
    const good = await create(server, ns, 'good', { annotations })
    expect(good.status, good.text).toBe(201)
    expect(remote.asked.at(-1)).toEqual({
      apiVersion: 'imagepolicy.k8s.io/v1alpha1',
      kind: 'ImageReview',
      spec: {
        containers: [{ image: 'good' }],
        annotations: { 'me.image-policy.k8s.io/ticket': '7' },
        namespace: ns,
      },
    })
    const key = 'imagepolicywebhook.image-policy.k8s.io'
    expect((await server.auditOf(good)).annotations[`${key}/seen`]).toBe('yes')
    const asked = remote.asked.length
    for (const _ of [1, 2]) {
      const bad = await create(server, ns, 'bad')
      expect([bad.status, bad.body.message]).toEqual([
        403,
        'pods "bad" is forbidden: image policy webhook backend denied one or more images: not signed',
      ])
    }
    expect(remote.asked.length).toBe(asked + 1)

    remote.answer = () => ({ code: 404 })
    const open = await create(server, ns, 'open')
    expect(open.status, open.text).toBe(201)
    expect(open.body.metadata.annotations).toEqual({
      'alpha.image-policy.k8s.io/failed-open': 'true',
    })
    expect((await server.auditOf(open)).annotations[`${key}/failed-open`]).toBe('true')
  })

  it('without an answer, images do not run unless the configuration says so', async () => {
    const imagePolicy = { kubeConfigFile: remote.kubeconfig(folder) }
    await using server = await startApiServer({
      flags: flags({ ImagePolicyWebhook: { imagePolicy } }),
    })
    remote.answer = () => ({ code: 404 })
    const closed = await create(server, await server.namespace(), 'closed')
    expect(closed.status).toBe(403)
    expect(closed.body.message).toContain('pods "closed" is forbidden: failed to make webhook call')
  })

  it('admission webhooks see the credentials that are for their host', async () => {
    const { cert, key } = remote.clientFiles(folder)
    const { host } = new URL(remote.url)
    const kubeConfigFile = remote.kubeconfig(folder, {
      users: [
        { name: host, user: { 'client-certificate': cert, 'client-key': key, token: 'exact' } },
        { name: '*.example.com', user: { token: 'other' } },
      ],
    })
    const configuration = {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'WebhookAdmissionConfiguration',
      kubeConfigFile,
    }
    await using server = await startApiServer({
      flags: flags({ ValidatingAdmissionWebhook: configuration }),
    })
    const ns = await server.namespace()
    const registration = `/apis/admissionregistration.k8s.io/v1`
    const webhook = (name: string, resource: string) => ({
      name,
      clientConfig: { url: remote.url, caBundle: remote.caBundle },
      rules: [
        { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: [resource] },
      ],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      failurePolicy: 'Fail',
    })
    for (const [kind, name, resource] of [
      ['validating', 'v.example.com', 'configmaps'],
      ['mutating', 'm.example.com', 'secrets'],
    ] as const) {
      await server.ok('POST', `${registration}/${kind}webhookconfigurations`, {
        body: { metadata: { name }, webhooks: [webhook(name, resource)] },
      })
    }
    remote.answer = (review) => {
      const { uid } = (review as unknown as { request: { uid: string } }).request
      const { apiVersion, kind } = review
      return { body: { apiVersion, kind, response: { uid, allowed: true } } }
    }
    const shown = async (plural: string): Promise<unknown> => {
      const body = { metadata: { name: 'x' } }
      await server.ok('POST', `/api/v1/namespaces/${ns}/${plural}`, { body })
      return [remote.callers.at(-1), remote.authorizations.at(-1)]
    }
    expect(await shown('configmaps')).toEqual(['the-api-server', 'Bearer exact'])
    // Only the plugin that is configured shows them.
    expect(await shown('secrets')).toEqual(['', ''])
  })

  it('resources are limited, and Events, by one file', async () => {
    await using server = await startApiServer({
      flags: flags({
        ResourceQuota: {
          apiVersion: 'apiserver.config.k8s.io/v1',
          kind: 'ResourceQuotaConfiguration',
          limitedResources: [{ resource: 'pods', matchContains: ['pods'] }],
        },
        PodNodeSelector: { podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: 'a=b' } },
        PodTolerationRestriction: {
          apiVersion: 'podtolerationrestriction.admission.k8s.io/v1alpha1',
          kind: 'Configuration',
          default: [{ key: 'k', operator: 'Exists' }],
        },
        EventRateLimit: {
          apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1',
          kind: 'Configuration',
          limits: [{ type: 'Namespace', qps: 1, burst: 1 }],
        },
      }),
    })
    const ns = await server.namespace()
    expect((await create(server, ns, 'p')).body.message).toBe(
      'pods "p" is forbidden: insufficient quota to consume: count/pods,pods',
    )
    const hard = { pods: '1', 'count/pods': '1' }
    const quotas = `/api/v1/namespaces/${ns}/resourcequotas`
    const quota = await server.ok('POST', quotas, {
      body: { metadata: { name: 'q' }, spec: { hard } },
    })
    const status = { hard, used: { pods: '0', 'count/pods': '0' } }
    await server.ok('PUT', `${quotas}/q/status`, { body: { ...quota, status } })
    const made = await create(server, ns, 'p')
    expect(made.status, made.text).toBe(201)
    expect(made.body.spec).toMatchObject({
      nodeSelector: { a: 'b' },
      tolerations: expect.arrayContaining([{ key: 'k', operator: 'Exists' }]) as unknown,
    })
    const event = (name: string) =>
      server.request('POST', `/api/v1/namespaces/${ns}/events`, {
        body: { metadata: { name }, involvedObject: { kind: 'Pod', namespace: ns, name: 'p' } },
      })
    expect((await event('x')).status).toBe(201)
    expect((await event('y')).body).toMatchObject({
      code: 429,
      reason: 'TooManyRequests',
      message: `Too many requests: limit reached on type Namespace for key ${ns}`,
    })
  })

  const versioned = (group: string, kind: string, more: Json) => ({
    apiVersion: `${group}.k8s.io/${group === 'apiserver.config' ? 'v1' : 'v1alpha1'}`,
    kind,
    ...more,
  })
  const limits = (...of: Json[]) =>
    versioned('eventratelimit.admission', 'Configuration', { limits: of })
  it.each<[string, unknown, string]>([
    ['Magic', {}, 'plugin "Magic" is unknown'],
    [
      'ResourceQuota',
      versioned('apiserver.config', 'ResourceQuotaConfiguration', { limitedResources: [{}] }),
      'limitedResources[0].resource: Required value',
    ],
    [
      'EventRateLimit',
      limits(),
      'limits: Invalid value: []eventratelimit.Limit(nil): must not be empty',
    ],
    [
      'EventRateLimit',
      limits({ type: 'Pod', qps: 0, burst: -1, cacheSize: -1 }),
      '[limits[0].burst: Invalid value: -1: must be positive, limits[0].qps: Invalid value: 0: must be positive, limits[0].cacheSize: Invalid value: -1: must not be negative, limits[0].type: Unsupported value: "Pod": supported values: "Namespace", "Server", "SourceAndObject", "User"]',
    ],
    [
      'ImagePolicyWebhook',
      { imagePolicy: { kubeConfigFile: 'x', allowTTL: 1801 } },
      'valid value is between 1s and 30m0s, got 30m1s',
    ],
    [
      'ImagePolicyWebhook',
      { imagePolicy: { kubeConfigFile: 'x', retryBackoff: -2 } },
      'valid value is between 1ns and 5m0s, got -2ms',
    ],
    ['ImagePolicyWebhook', { imagePolicy: {} }, 'imagePolicy.kubeConfigFile: Required value'],
    ['ImagePolicyWebhook', { imagePolicy: { kubeConfigFile: 'gone.yaml' } }, '/gone.yaml: ENOENT'],
    [
      'PodNodeSelector',
      { podNodeSelectorPluginConfig: { team: 'a=b,c' } },
      'podNodeSelectorPluginConfig[team]: invalid selector: a=b,c',
    ],
    [
      'PodTolerationRestriction',
      versioned('podtolerationrestriction.admission', 'Configuration', {
        whitelist: [{ key: 'k', operator: 'Maybe' }],
      }),
      'whitelist[0].operator: Unsupported value: "Maybe"',
    ],
    [
      'MutatingAdmissionWebhook',
      versioned('apiserver.config', 'WebhookAdmissionConfiguration', { kubeConfigFile: 'here' }),
      'kubeConfigFile must be an absolute path, but got "here"',
    ],
    [
      'ValidatingAdmissionWebhook',
      versioned('apiserver.config', 'WebhookAdmissionConfiguration', { kubeConfigFile: '/gone' }),
      'kubeConfigFile: /gone: ENOENT',
    ],
  ])('a wrong configuration of %s keeps it from starting: %j', async (plugin, wrong, message) => {
    const enable = plugin === 'Magic' ? [] : [plugin]
    const failed = startApiServer({ flags: flags({ [plugin]: wrong }, enable) }).then(
      async (server) => {
        await server[Symbol.asyncDispose]()
        return 'started'
      },
      (error: unknown) => (error as Error).message,
    )
    const told = await failed
    expect(told).toContain('--admission-control-config-file: ')
    expect(told).toContain('plugins[0].configuration: ')
    expect(told).toContain(message)
  })

  it.each([
    ['EventRateLimit', 'limits: Invalid value: []eventratelimit.Limit(nil): must not be empty'],
    ['ImagePolicyWebhook', 'no config specified'],
  ])('%s does not start without a configuration', async (plugin, message) => {
    await expect(
      startApiServer({ flags: [`--enable-admission-plugins=${plugin}`] }),
    ).rejects.toThrow(`couldn't init admission plugin "${plugin}": ${message}`)
  })
})
