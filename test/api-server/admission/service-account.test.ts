/** The plugin ServiceAccount: which account a pod runs as, its token, and the secrets it may use. */
import { describe, expect, test } from 'vitest'
import { inClusterConnection } from '../../../components/api-server/egress/webhook-client.ts'
import { dialects } from '../../../components/api/dialect.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { settle } from '../../support/fake-clock.ts'
import { admissionWorld } from './world.ts'

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
