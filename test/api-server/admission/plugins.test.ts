import { settle } from '../../support/fake-clock.ts'
import { describe, expect, test } from 'vitest'
import { createCertificateRequest } from '../../../certs/csr.ts'
import { generateKeyPair } from '../../../certs/keys.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { inClusterConnection } from '../../../components/api-server/egress/webhook-client.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { admissionWorld } from './world.ts'

describe('NamespaceLifecycle', () => {
  const { reader, resources, outcome, admit } = admissionWorld(['NamespaceLifecycle'])
  const { configMaps, namespaces } = resources
  const late: KubeObject = { metadata: { namespace: 't1', name: 'late' } }
  reader.put(namespaces, { metadata: { name: 't1' }, status: { phase: 'Terminating' } })
  reader.put(namespaces, { metadata: { name: 'a' }, status: { phase: 'Active' } })

  test('nothing is made in a namespace that does not exist', async () => {
    const object = { metadata: { namespace: 'none', name: 'x' } }
    expect(await outcome({ resource: configMaps, object })).toBe('404 namespaces "none" not found')
    const inA = { metadata: { namespace: 'a', name: 'x' } }
    expect(await outcome({ resource: configMaps, object: inA })).toBe('admitted')
  })

  test('nothing new is made in a namespace that is being terminated', async () => {
    const error = await admit({ resource: configMaps, object: late }).catch((e: unknown) => e)
    expect((error as StatusError).toStatus()).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message:
        'configmaps "late" is forbidden: unable to create new content in namespace t1 because it is being terminated',
      reason: 'Forbidden',
      details: {
        name: 'late',
        kind: 'configmaps',
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: 'namespace t1 is being terminated',
            field: 'metadata.namespace',
          },
        ],
      },
      code: 403,
    })
  })

  test('but what is there may change and go', async () => {
    const at = { resource: configMaps, namespace: 't1', name: 'late', old: late }
    expect(await outcome({ ...at, operation: 'UPDATE', object: late })).toBe('admitted')
    expect(await outcome({ ...at, operation: 'DELETE' })).toBe('admitted')
    expect(await outcome({ ...at, operation: 'DELETE', namespace: 'none' })).toBe('admitted')
  })

  test("the system's namespaces stay", async () => {
    for (const name of ['default', 'kube-system', 'kube-public']) {
      expect(await outcome({ resource: namespaces, operation: 'DELETE', name })).toBe(
        `403 namespaces "${name}" is forbidden: this namespace may not be deleted`,
      )
    }
    expect(await outcome({ resource: namespaces, operation: 'DELETE', name: 'a' })).toBe('admitted')
    const other = { resource: configMaps, operation: 'DELETE' as const, namespace: 'a' }
    expect(await outcome({ ...other, name: 'default' })).toBe('admitted')
    const object = { metadata: { name: 'default' } }
    expect(await outcome({ resource: namespaces, operation: 'UPDATE', object })).toBe('admitted')
  })

  test('what is in no namespace needs none', async () => {
    const object = { metadata: { name: 'n1' } }
    expect(await outcome({ resource: resources.nodes, object })).toBe('admitted')
    expect(await outcome({ resource: namespaces, namespace: 'new', object })).toBe('admitted')
  })

  test('reviews may ask about a namespace that does not exist', async () => {
    const asked = { resource: resources.localSubjectAccessReviews, namespace: 'none' }
    expect(await outcome({ ...asked, object: { metadata: {} } })).toBe('admitted')
    const stored = { ...asked, resource: resources.leases }
    expect(await outcome({ ...stored, object: { metadata: {} } })).toContain('404')
  })
})

describe.each([dialects.kubernetes, dialects.svc])('ServiceAccount ($name)', (dialect) => {
  function world() {
    const made = admissionWorld(['ServiceAccount'], { dialect })
    made.reader.put(made.resources.serviceAccounts, {
      metadata: { namespace: 'a', name: 'default' },
    })
    return made
  }
  const pod = (spec = {}, metadata = {}): KubeObject => ({
    metadata: { namespace: 'a', name: 'p', ...metadata },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  })
  const mountPath = `/var/run/secrets/${dialect.labelDomain}/serviceaccount`

  test('a webhook that runs in the cluster is called with the token mounted there', async () => {
    const { admit, resources } = world()
    const { spec } = (await admit({ resource: resources.pods, object: pod() })) as KubeObject
    const [mount] = spec.containers[0].volumeMounts as { mountPath: string }[]
    const files = new Map([
      [`${mount?.mountPath}/ca.crt`, 'authority'],
      [`${mount?.mountPath}/token`, 'token\n'],
    ])
    const read = (path: string): string => {
      const content = files.get(path)
      if (content === undefined) throw new Error(`no file ${path}`)
      return content
    }
    const environment = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' }
    expect(inClusterConnection({ environment, dialect, read })).toEqual({
      url: 'https://10.96.0.1:443',
      ca: 'authority',
      token: 'token',
    })
  })

  test('[AUTHN-026] an unset account is the default one, its token mounted in every container', async () => {
    const { admit, resources } = world()
    const initContainers = [{ name: 'i', image: 'i' }]
    const admitted = await admit({ resource: resources.pods, object: pod({ initContainers }) })
    const { spec } = admitted as KubeObject
    const name = spec.volumes[0].name as string
    expect(name).toMatch(/^kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
    expect(spec).toEqual({
      serviceAccountName: 'default',
      serviceAccount: 'default',
      containers: [{ name: 'c', image: 'i', volumeMounts: [{ name, readOnly: true, mountPath }] }],
      initContainers: [
        { name: 'i', image: 'i', volumeMounts: [{ name, readOnly: true, mountPath }] },
      ],
      volumes: [
        {
          name,
          projected: {
            defaultMode: 420,
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
              {
                configMap: {
                  name: dialect.rootCaConfigMap,
                  items: [{ key: 'ca.crt', path: 'ca.crt' }],
                },
              },
              {
                downwardAPI: {
                  items: [
                    {
                      path: 'namespace',
                      fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' },
                    },
                  ],
                },
              },
            ],
          },
        },
      ],
    })
  })

  test('a container with its own mount there keeps it, and an existing volume is used', async () => {
    const { admit, resources } = world()
    const own = [{ name: 'c', volumeMounts: [{ name: 'mine', mountPath }] }]
    const kept = await admit({ resource: resources.pods, object: pod({ containers: own }) })
    expect(kept?.['spec'].volumes).toBeUndefined()
    expect(kept?.['spec'].containers).toEqual(own)
    const volumes = [{ name: 'kube-api-access-zzzzz', projected: { sources: [] } }]
    const used = await admit({ resource: resources.pods, object: pod({ volumes }) })
    expect(used?.['spec'].volumes).toEqual(volumes)
    expect(used?.['spec'].containers[0].volumeMounts[0].name).toBe('kube-api-access-zzzzz')
  })

  test('other mounts and volumes stay, and one container that mounts the token needs the volume', async () => {
    const { admit, resources } = world()
    const data = { name: 'data', mountPath: '/data' }
    const own = { name: 'mine', mountPath }
    const volumes = [{ name: 'data', emptyDir: {} }]
    const containers = [{ name: 'c', volumeMounts: [own] }]
    const initContainers = [{ name: 'i', volumeMounts: [data] }]
    const object = pod({ containers, initContainers, volumes })
    const { spec } = (await admit({ resource: resources.pods, object })) as KubeObject
    expect(spec.containers).toEqual(containers)
    const name = spec.volumes[1].name as string
    expect(spec.initContainers[0].volumeMounts).toEqual([data, { name, readOnly: true, mountPath }])
    expect(spec.volumes).toHaveLength(2)
    expect(spec.volumes[0]).toEqual(volumes[0])
  })

  test('only new pods get an account, and only pods', async () => {
    const { admit, resources } = world()
    const object = pod()
    const at = { resource: resources.pods, object, old: object }
    expect(await admit({ ...at, operation: 'UPDATE' })).toEqual(object)
    expect(await admit({ ...at, subresource: 'eviction' })).toEqual(object)
    expect(await admit({ resource: resources.replicaSets, object })).toEqual(object)
    const empty = { metadata: { namespace: 'a', name: 'p' } }
    expect(await admit({ resource: resources.pods, object: empty })).toEqual(empty)
  })

  test('pod and account may opt out of the mount; the pod decides', async () => {
    const { admit, resources, reader } = world()
    const volumesOf = async (spec: object): Promise<unknown> =>
      (await admit({ resource: resources.pods, object: pod(spec) }))?.['spec'].volumes
    expect(await volumesOf({ automountServiceAccountToken: false })).toBeUndefined()
    reader.put(resources.serviceAccounts, {
      metadata: { namespace: 'a', name: 'quiet' },
      automountServiceAccountToken: false,
    })
    expect(await volumesOf({ serviceAccountName: 'quiet' })).toBeUndefined()
    const insists = { serviceAccountName: 'quiet', automountServiceAccountToken: true }
    expect(await volumesOf(insists)).toHaveLength(1)
  })

  test('an account that does not exist refuses the pod', async () => {
    const { outcome, resources } = world()
    const object = pod({ serviceAccountName: 'none' })
    expect(await outcome({ resource: resources.pods, object })).toBe(
      '403 pods "p" is forbidden: error looking up service account a/none: serviceaccount "none" not found',
    )
  })

  test('a default account that is about to be made is waited for', async () => {
    const { admit, resources, reader, clock } = world()
    let isAdmitted = false
    const late = admit({ resource: resources.pods, object: pod({}, { namespace: 'b' }) }).finally(
      () => (isAdmitted = true),
    )
    await settle()
    reader.put(resources.serviceAccounts, { metadata: { namespace: 'b', name: 'other' } })
    reader.put(resources.serviceAccounts, { metadata: { namespace: 'c', name: 'default' } })
    await settle()
    expect(isAdmitted).toBe(false)
    reader.put(resources.serviceAccounts, { metadata: { namespace: 'b', name: 'default' } })
    const { spec } = (await late) as KubeObject
    expect(spec.serviceAccountName).toBe('default')
    expect(spec.volumes).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  test('but not for long', async () => {
    const { outcome, resources, clock, reader } = world()
    const follow = reader.onChange.bind(reader)
    let following = 0
    reader.onChange = (...given) => {
      const stop = follow(...given)
      following += 1
      return () => {
        following -= 1
        stop()
      }
    }
    const late = outcome({ resource: resources.pods, object: pod({}, { namespace: 'b' }) })
    await clock.step(1499)
    expect(clock.pending).toBe(1)
    await clock.step(1)
    expect(await late).toContain('error looking up service account b/default')
    expect([clock.pending, following]).toEqual([0, 0])
  })

  test("a pod without pull secrets gets its account's", async () => {
    const { admit, resources, reader } = world()
    reader.put(resources.serviceAccounts, {
      metadata: { namespace: 'a', name: 'default' },
      imagePullSecrets: [{ name: 's' }],
    })
    const secretsOf = async (spec = {}): Promise<unknown> =>
      (await admit({ resource: resources.pods, object: pod(spec) }))?.['spec'].imagePullSecrets
    expect(await secretsOf()).toEqual([{ name: 's' }])
    expect(await secretsOf({ imagePullSecrets: [{ name: 't' }] })).toEqual([{ name: 't' }])
    expect(await secretsOf({ imagePullSecrets: [] })).toEqual([{ name: 's' }])
    reader.put(resources.serviceAccounts, {
      metadata: { namespace: 'a', name: 'default' },
      imagePullSecrets: [],
    })
    expect(await secretsOf()).toBeUndefined()
  })

  test('an account may limit the secrets its pods use (CVE-2023-2728, CVE-2024-3177)', async () => {
    const { outcome, resources, reader } = world()
    reader.put(resources.serviceAccounts, {
      metadata: {
        namespace: 'a',
        name: 'default',
        annotations: { [`${dialect.labelDomain}/enforce-mountable-secrets`]: 'true' },
      },
      secrets: [{ name: 'mine' }],
    })
    const using = (secretName: string) =>
      outcome({
        resource: resources.pods,
        object: pod({ volumes: [{ name: 'v', secret: { secretName } }] }),
      })
    expect(await using('mine')).toBe('admitted')
    expect(await using('other')).toContain('service account default does not reference that secret')

    const container = (name: string) => ({
      name: 'c',
      image: 'i',
      envFrom: [{ configMapRef: { name: 'any' } }, { secretRef: { name } }],
    })
    const refused = 'is not allowed because service account default does not reference that secret'
    const running = (name: string) =>
      outcome({
        operation: 'UPDATE',
        resource: resources.pods,
        subresource: 'ephemeralcontainers',
        object: pod({ serviceAccountName: 'default', ephemeralContainers: [container(name)] }),
      })
    const starting = (spec: object) => outcome({ resource: resources.pods, object: pod(spec) })
    expect(await starting({ containers: [container('mine')] })).toBe('admitted')
    expect(await starting({ containers: [container('other')] })).toContain(
      `container c with envFrom referencing secret.secretName="other" ${refused}`,
    )
    expect(await starting({ initContainers: [container('other')] })).toContain(
      `init container c with envFrom referencing secret.secretName="other" ${refused}`,
    )
    expect(await running('mine')).toBe('admitted')
    expect(await running('other')).toContain(
      `ephemeral container c with envFrom referencing secret.secretName="other" ${refused}`,
    )
    const variable = (name: string) => ({
      name: 'c',
      image: 'i',
      env: [
        { name: 'PLAIN', value: 'x' },
        { name: 'SECRET', valueFrom: { secretKeyRef: { name, key: 'k' } } },
      ],
    })
    expect(await starting({ containers: [variable('mine')] })).toBe('admitted')
    expect(await starting({ containers: [variable('other')] })).toContain(
      `container c with envVar SECRET referencing secret.secretName="other" ${refused}`,
    )
    expect(await starting({ imagePullSecrets: [{ name: 'mine' }] })).toContain(
      'imagePullSecrets[0].name="mine" is not allowed because service account default does not reference that imagePullSecret',
    )
  })

  test('an account that lists pull secrets allows those', async () => {
    const { outcome, resources, reader } = world()
    reader.put(resources.serviceAccounts, {
      metadata: {
        namespace: 'a',
        name: 'default',
        annotations: { [`${dialect.labelDomain}/enforce-mountable-secrets`]: 'true' },
      },
      imagePullSecrets: [{ name: 'mine' }],
    })
    const pulling = (...names: string[]) => {
      const imagePullSecrets = names.map((name) => ({ name }))
      return outcome({ resource: resources.pods, object: pod({ imagePullSecrets }) })
    }
    expect(await pulling()).toBe('admitted')
    expect(await pulling('mine')).toBe('admitted')
    expect(await pulling('mine', 'other')).toContain('imagePullSecrets[1].name="other"')
    const object = pod({ serviceAccountName: 'default', imagePullSecrets: [{ name: 'other' }] })
    const at = { resource: resources.pods, operation: 'UPDATE' as const, object, old: object }
    expect(await outcome({ ...at, subresource: 'ephemeralcontainers' })).toBe('admitted')
  })

  test('the limit is on for what Go reads as true, for new pods and what is added to one', async () => {
    const { outcome, resources, reader } = world()
    const object = pod({
      serviceAccountName: 'default',
      volumes: [{ name: 'v', secret: { secretName: 's' } }],
    })
    const refused = async (value: string): Promise<boolean> => {
      reader.put(resources.serviceAccounts, {
        metadata: {
          namespace: 'a',
          name: 'default',
          annotations: { [`${dialect.labelDomain}/enforce-mountable-secrets`]: value },
        },
      })
      return (await outcome({ resource: resources.pods, object })) !== 'admitted'
    }
    for (const yes of ['1', 't', 'T', 'TRUE', 'true', 'True']) {
      expect([yes, await refused(yes)]).toEqual([yes, true])
    }
    for (const no of ['', '0', 'false', 'yes', 'tRUE']) {
      expect([no, await refused(no)]).toEqual([no, false])
    }
    expect(await refused('true')).toBe(true)
    const change = { resource: resources.pods, operation: 'UPDATE' as const, object, old: object }
    expect(await outcome(change)).toBe('admitted')
    expect(await outcome({ ...change, subresource: 'status' })).toBe('admitted')
    // Its volumes were looked at when it was made.
    expect(await outcome({ ...change, subresource: 'ephemeralcontainers' })).toBe('admitted')
  })

  test('a mirror pod is left alone, and refers to nothing', async () => {
    const { admit, outcome, resources } = world()
    const annotations = { [`${dialect.labelDomain}/config.mirror`]: 'x' }
    const mirror = (spec = {}) => ({ resource: resources.pods, object: pod(spec, { annotations }) })
    expect((await admit(mirror()))?.['spec']).toEqual(pod()['spec'])
    expect(await outcome(mirror({ serviceAccountName: 'default' }))).toContain(
      'a mirror pod may not reference service accounts',
    )
    expect(await outcome(mirror({ imagePullSecrets: [{ name: 's' }] }))).toContain(
      'reference secrets',
    )
    const volumes = (volume: object) => mirror({ volumes: [{ name: 'v', ...volume }] })
    const projected = (...sources: object[]) => volumes({ projected: { sources } })
    expect(await outcome(volumes({ persistentVolumeClaim: { claimName: 'x' } }))).toContain(
      'may not reference persistentvolumeclaims',
    )
    expect(await outcome(projected({}, { serviceAccountToken: { path: 't' } }))).toContain(
      'may not use ServiceAccountToken volume projections',
    )
    expect(await outcome(projected({ downwardAPI: {} }))).toBe('admitted')
    expect(await outcome(volumes({ projected: {} }))).toBe('admitted')
    expect(await outcome(volumes({ emptyDir: {} }))).toBe('admitted')
  })
})

describe('DefaultTolerationSeconds', () => {
  const { admit, resources } = admissionWorld(['DefaultTolerationSeconds'])
  const tolerationsOf = async (tolerations?: object[]): Promise<unknown> => {
    const object = { metadata: {}, spec: { containers: [], ...(tolerations && { tolerations }) } }
    return (await admit({ resource: resources.pods, object }))?.['spec'].tolerations
  }
  const added = (name: string) => ({
    key: `node.kubernetes.io/${name}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  })

  test('a pod tolerates an unready and an unreachable node for five minutes', async () => {
    expect(await tolerationsOf()).toEqual([added('not-ready'), added('unreachable')])
  })

  test('what the pod says about them counts', async () => {
    const own = { key: 'node.kubernetes.io/not-ready', operator: 'Exists', tolerationSeconds: 1 }
    expect(await tolerationsOf([own])).toEqual([own, added('unreachable')])
    const all = { operator: 'Exists' }
    expect(await tolerationsOf([all])).toEqual([all])
    const other = { ...own, effect: 'NoSchedule' }
    expect(await tolerationsOf([other])).toEqual([other, added('not-ready'), added('unreachable')])
    const whole = [added('not-ready'), added('unreachable')]
    expect(await tolerationsOf(whole)).toEqual(whole)
    const unrelated = { key: 'example.com/x', operator: 'Exists' }
    expect(await tolerationsOf([unrelated])).toEqual([unrelated, ...whole])
  })

  test('pods alone get them, new or changed, never through a sub-resource', async () => {
    const object = { metadata: {}, spec: { containers: [] } }
    const specOf = async (asked: object) =>
      (await admit({ resource: resources.pods, object, ...asked }))?.['spec']
    expect(await specOf({ operation: 'UPDATE', old: object })).toHaveProperty('tolerations')
    expect(await specOf({ operation: 'UPDATE', subresource: 'status' })).toEqual(object.spec)
    expect(await specOf({ resource: resources.replicaSets })).toEqual(object.spec)
    expect(await specOf({ operation: 'DELETE' })).toEqual(object.spec)
    expect(await specOf({ object: { metadata: {} } })).toBeUndefined()
  })
})

describe('Priority', () => {
  function world() {
    const made = admissionWorld(['Priority'])
    const put = (name: string, more: object): void => {
      made.reader.put(made.resources.priorityClasses, { metadata: { name }, ...more })
    }
    put('high', { value: 100, preemptionPolicy: 'Never' })
    const specOf = async (spec: object): Promise<KubeObject['spec']> =>
      (await made.admit({ resource: made.resources.pods, object: pod(spec) }))?.['spec']
    return { ...made, put, specOf }
  }
  const pod = (spec: object): KubeObject => ({ metadata: { name: 'p', namespace: 'a' }, spec })

  test("a pod gets its class's priority and policy", async () => {
    const { specOf } = world()
    expect(await specOf({ priorityClassName: 'high' })).toEqual({
      priorityClassName: 'high',
      priority: 100,
      preemptionPolicy: 'Never',
    })
  })

  test('without a class it gets the default class, or zero', async () => {
    const { specOf, put } = world()
    expect(await specOf({})).toEqual({ priority: 0, preemptionPolicy: 'PreemptLowerPriority' })
    put('usual', { value: 7, globalDefault: true })
    expect(await specOf({})).toMatchObject({ priorityClassName: 'usual', priority: 7 })
    expect(await specOf({ priorityClassName: '' })).toMatchObject({ priorityClassName: 'usual' })
  })

  test('of several default classes the lowest counts', async () => {
    const { specOf, put } = world()
    put('b', { value: 7, globalDefault: true })
    put('a', { value: 70, globalDefault: true })
    put('c', { value: 1, globalDefault: false })
    expect(await specOf({})).toMatchObject({ priorityClassName: 'b', priority: 7 })
  })

  test('a policy of its own is refused unless it is that of the class', async () => {
    const { specOf, outcome, resources } = world()
    const never = { priorityClassName: 'high', preemptionPolicy: 'Never' }
    expect(await specOf(never)).toMatchObject(never)
    const object = pod({ ...never, preemptionPolicy: 'PreemptLowerPriority' })
    expect(await outcome({ resource: resources.pods, object })).toContain(
      'the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority admission controller computed Never',
    )
  })

  test('null is no priority of its own', async () => {
    const { specOf } = world()
    const given = { priorityClassName: 'high', priority: null, preemptionPolicy: null }
    expect(await specOf(given)).toMatchObject({ priority: 100, preemptionPolicy: 'Never' })
  })

  test('nothing else than pods gets one, and no sub-resource', async () => {
    const { admit, resources } = world()
    const object = pod({})
    expect(await admit({ resource: resources.replicaSets, object })).toEqual(object)
    expect(await admit({ resource: resources.pods, subresource: 'x', object })).toEqual(object)
    const { spec: _, ...bare } = object
    expect(await admit({ resource: resources.pods, object: bare })).toEqual(bare)
  })

  test('an unknown class, or a priority of its own, is refused', async () => {
    const { outcome, resources } = world()
    const ask = (spec: object) => outcome({ resource: resources.pods, object: pod(spec) })
    expect(await ask({ priorityClassName: 'none' })).toBe(
      '403 pods "p" is forbidden: no PriorityClass with name none was found',
    )
    expect(await ask({ priority: 5 })).toBe(
      '403 pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name',
    )
    expect(await ask({ priorityClassName: 'high', priority: 100 })).toBe('admitted')
  })

  test('an update that leaves the priority out keeps it', async () => {
    const { admit, resources } = world()
    const old = pod({ priority: 100, preemptionPolicy: 'Never' })
    const at = { resource: resources.pods, operation: 'UPDATE' as const, old }
    expect((await admit({ ...at, object: pod({}) }))?.['spec']).toEqual(old['spec'])
    const other = { priority: 5, preemptionPolicy: 'Never' }
    expect((await admit({ ...at, object: pod(other) }))?.['spec']).toEqual(other)
    expect((await admit({ ...at, old: pod({}), object: pod({}) }))?.['spec']).toEqual({})
  })

  test('only one class is the default', async () => {
    const { outcome, resources, put } = world()
    put('usual', { value: 7, globalDefault: true })
    const write = (name: string) =>
      outcome({
        resource: resources.priorityClasses,
        object: { metadata: { name }, value: 1, globalDefault: true },
      })
    expect(await write('second')).toContain('PriorityClass usual is already marked as default')
    expect(await write('usual')).toBe('admitted')
    const plain = { metadata: { name: 'second' }, value: 1 }
    expect(await outcome({ resource: resources.priorityClasses, object: plain })).toBe('admitted')
    const change = { operation: 'UPDATE' as const, old: plain }
    const object = { ...plain, globalDefault: true }
    expect(await outcome({ resource: resources.priorityClasses, ...change, object })).toContain(
      'already marked as default',
    )
    const other = { resource: resources.runtimeClasses, object }
    expect(await outcome(other)).toBe('admitted')
    expect(
      await outcome({ resource: resources.priorityClasses, operation: 'DELETE', name: 'second' }),
    ).toBe('admitted')
  })

  test('the first default class is admitted', async () => {
    const { outcome, resources } = world()
    const object = { metadata: { name: 'first' }, value: 1, globalDefault: true }
    expect(await outcome({ resource: resources.priorityClasses, object })).toBe('admitted')
  })
})

describe('TaintNodesByCondition', () => {
  test('a new node is not ready until it has been seen so', async () => {
    const { admit, resources } = admissionWorld(['TaintNodesByCondition'])
    const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }
    const object: KubeObject = { metadata: { name: 'n1' } }
    expect((await admit({ resource: resources.nodes, object }))?.['spec'].taints).toEqual([taint])
    for (const other of [
      { ...taint, key: 'x' },
      { ...taint, effect: 'NoExecute' },
    ]) {
      const marked = { ...object, spec: { podCIDR: '10.0.0.0/24', taints: [other] } }
      const admitted = await admit({ resource: resources.nodes, object: marked })
      expect(admitted?.['spec']).toEqual({ podCIDR: '10.0.0.0/24', taints: [other, taint] })
    }
    const change = { operation: 'UPDATE' as const, old: object, object }
    expect(await admit({ resource: resources.nodes, ...change })).toEqual(object)
    expect(await admit({ resource: resources.nodes, subresource: 'status', object })).toEqual(
      object,
    )
    expect(await admit({ resource: resources.pods, object })).toEqual(object)
    const tainted = { ...object, spec: { taints: [taint] } }
    expect((await admit({ resource: resources.nodes, object: tainted }))?.['spec'].taints).toEqual([
      taint,
    ])
  })
})

describe('signing requests', () => {
  const plugins = ['CertificateApproval', 'CertificateSigning', 'CertificateSubjectRestriction']
  function world(granted: string[]) {
    return admissionWorld(plugins, {
      authorizer: {
        name: 'x',
        authorize: ({ verb, resource, name }) => ({
          decision: granted.includes(`${verb} ${resource} ${name}`) ? 'allow' : 'no-opinion',
          reason: '',
        }),
      },
    })
  }
  const signerName = 'kubernetes.io/kube-apiserver-client'
  const csr = (spec = {}, status = {}): KubeObject => ({
    metadata: { name: 'c' },
    spec: { signerName, request: '', ...spec },
    status,
  })

  test('approving needs the right for the signer, by name or by domain', async () => {
    for (const [granted, expected] of [
      [
        [],
        `403 certificatesigningrequests.certificates.k8s.io "c" is forbidden: user not permitted to approve requests with signerName "${signerName}"`,
      ],
      [[`approve signers ${signerName}`], 'admitted'],
      [['approve signers kubernetes.io/*'], 'admitted'],
      [[`sign signers ${signerName}`], /approve/],
    ] as const) {
      const { outcome, resources } = world([...granted])
      const result = await outcome({
        resource: resources.certificateSigningRequests,
        operation: 'UPDATE',
        subresource: 'approval',
        old: csr(),
        // A sub-resource cannot change the signer, so a forged one does not count.
        object: csr({ signerName: 'mine/any' }),
      })
      if (typeof expected === 'string') expect(result).toBe(expected)
      else expect(result).toMatch(expected)
    }
  })

  test('the authorizers are asked about the signer, for every version and in no namespace', async () => {
    const asked: unknown[] = []
    const { outcome, resources } = admissionWorld(plugins, {
      authorizer: {
        name: 'x',
        authorize: (attributes) => (asked.push(attributes), { decision: 'deny', reason: '' }),
      },
    })
    const at = { resource: resources.certificateSigningRequests, operation: 'UPDATE' as const }
    await outcome({ ...at, subresource: 'approval', old: csr(), object: csr() })
    const question = {
      user: { name: 'jane', groups: [] },
      verb: 'approve',
      isResourceRequest: true,
      group: 'certificates.k8s.io',
      version: '*',
      resource: 'signers',
      subresource: '',
      namespace: '',
      path: '',
    }
    expect(asked).toEqual([
      { ...question, name: signerName },
      { ...question, name: 'kubernetes.io/*' },
    ])
    asked.length = 0
    const other = { ...at, subresource: 'approval', old: csr(), object: csr() }
    expect(await outcome({ ...other, resource: resources.pods })).toBe('admitted')
    expect(await outcome({ ...other, operation: 'CREATE' })).toBe('admitted')
    expect(await outcome({ ...other, subresource: '' })).toBe('admitted')
    expect(asked).toEqual([])
  })

  test('signing needs the right for the signer; other status changes do not', async () => {
    const { outcome, resources } = world([])
    const at = {
      resource: resources.certificateSigningRequests,
      operation: 'UPDATE' as const,
      subresource: 'status',
      old: csr(),
    }
    expect(await outcome({ ...at, object: csr({}, { certificate: 'x' }) })).toContain(
      'permitted to sign',
    )
    expect(await outcome({ ...at, object: csr({}, { conditions: [{}] }) })).toContain(
      'permitted to sign',
    )
    expect(await outcome({ ...at, object: csr() })).toBe('admitted')
    const denied = { conditions: [{ type: 'Denied' }] }
    const signed = { ...denied, certificate: 'x' }
    const from = (status: object, to: object) =>
      outcome({ ...at, old: csr({}, status), object: csr({}, to) })
    expect(await from(signed, { certificate: 'x' })).toContain('permitted to sign')
    expect(await from(signed, denied)).toContain('permitted to sign')
    expect(await from(signed, { ...signed })).toBe('admitted')
    expect(await from({}, { conditions: [] })).toBe('admitted')
    // Through the object itself the status does not change.
    const whole = { ...at, subresource: '', object: csr({}, signed) }
    expect(await outcome(whole)).toBe('admitted')
    const { status: _, ...bare } = csr()
    expect(await outcome({ ...at, old: bare, object: bare })).toBe('admitted')
  })

  test('nobody asks the client signer for system:masters', async () => {
    const { outcome, resources } = world([])
    const request = (...organizations: string[]): string =>
      Buffer.from(
        createCertificateRequest(generateKeyPair(), {
          subject: { commonName: 'x', organizations },
        }),
      ).toString('base64')
    const ask = (spec: object) =>
      outcome({ resource: resources.certificateSigningRequests, object: csr(spec) })
    expect(await ask({ request: request('devs', 'system:masters') })).toContain(
      'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
    )
    const disguised = Buffer.concat([
      Buffer.from('-----BEGIN A-----AAAA-----END B-----\n'),
      Buffer.from(request('system:masters'), 'base64'),
    ])
    expect(await ask({ request: disguised.toString('base64') })).toContain('not allowed')
    expect(await ask({ request: request('system:masters2', 'not-system:masters') })).toBe(
      'admitted',
    )
    const other = { signerName: 'example.com/x', request: request('system:masters') }
    expect(await ask(other)).toBe('admitted')
    const object = csr({ request: request('system:masters') })
    const at = { resource: resources.certificateSigningRequests, object }
    expect(await outcome({ ...at, operation: 'UPDATE', old: object })).toBe('admitted')
    expect(await outcome({ ...at, resource: resources.pods })).toBe('admitted')
    expect(await ask({ request: '' })).toBe('admitted')
  })

  test('nobody hides system:masters in another encoding of an organization', async () => {
    const { outcome, resources } = world([])
    const organization = (tag: number, value: Buffer): Buffer =>
      Buffer.concat([Buffer.from('060355040a', 'hex'), Buffer.from([tag, value.length]), value])
    const ask = (...parts: Buffer[]) => {
      const der = Buffer.concat(parts).toString('base64')
      const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der}\n-----END CERTIFICATE REQUEST-----\n`
      const object = csr({ request: Buffer.from(pem).toString('base64') })
      return outcome({ resource: resources.certificateSigningRequests, object })
    }
    const masters = Buffer.from('system:masters')
    const devs = organization(0x0c, Buffer.from('devs'))
    for (const tag of [0x0c, 0x13, 0x14, 0x16]) {
      expect(await ask(devs, organization(tag, masters))).toContain('is not allowed')
    }
    const wide = Buffer.from('system:masters', 'utf16le').swap16()
    expect(await ask(devs, organization(0x1e, wide))).toContain('is not allowed')
    expect(await ask(organization(0x0c, masters), devs)).toContain('is not allowed')
    expect(await ask(organization(0x0c, wide))).toBe('admitted')
    expect(await ask(organization(0x1e, masters))).toBe('admitted')
    const longer = Buffer.from('system:mastersx')
    expect(await ask(organization(0x0c, longer))).toBe('admitted')
    expect(await ask(organization(0x0c, longer.subarray(1)))).toBe('admitted')
    // The bytes of the name as a common name, and at the very end.
    expect(await ask(Buffer.from('0603550403', 'hex'), Buffer.from([0x0c, 14]), masters)).toBe(
      'admitted',
    )
    expect(await ask(devs, organization(0x0c, masters).subarray(0, -1))).toBe('admitted')
  })
})
