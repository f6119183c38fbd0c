/** Plugins that are on by default and look at one kind each: classes, protection, resizing, runtimes, trust bundles. */
import { describe, expect, test } from 'vitest'
import type { Authorizer } from '../../../components/api-server/authz/authorizer.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { admissionWorld } from './world.ts'

const inA = (name: string, more: object = {}): KubeObject => ({
  metadata: { name, namespace: 'a' },
  ...more,
})
const marked = (name: string, annotation: string, year: number, more: object = {}): KubeObject => ({
  metadata: {
    name,
    creationTimestamp: `${year}-01-01T00:00:00Z`,
    annotations: { [annotation]: 'true' },
  },
  ...more,
})

describe('DefaultStorageClass', () => {
  const { admit, reader, resources } = admissionWorld(['DefaultStorageClass'])
  const { persistentVolumeClaims: resource, storageClasses } = resources
  const classOf = async (claim: KubeObject, more: object = {}): Promise<unknown> =>
    (await admit({ resource, object: claim, ...more }))?.['spec'].storageClassName as unknown

  test('without a default the claim stays as it is', async () => {
    reader.put(storageClasses, { metadata: { name: 'plain' } })
    expect(await classOf(inA('c', { spec: {} }))).toBeUndefined()
  })

  test('a claim gets the newest default, the first by name of those as new', async () => {
    const mark = 'storageclass.kubernetes.io/is-default-class'
    reader.put(storageClasses, marked('old', mark, 2020))
    expect(await classOf(inA('c', { spec: {} }))).toBe('old')
    reader.put(
      storageClasses,
      marked('z', 'storageclass.beta.kubernetes.io/is-default-class', 2024),
    )
    reader.put(storageClasses, marked('b', mark, 2024))
    expect(await classOf(inA('c', { spec: {} }))).toBe('b')
  })

  test('a claim that names a class keeps it, also none, also by the old annotation', async () => {
    expect(await classOf(inA('c', { spec: { storageClassName: 'x' } }))).toBe('x')
    expect(await classOf(inA('c', { spec: { storageClassName: '' } }))).toBe('')
    const annotations = { 'volume.beta.kubernetes.io/storage-class': 'y' }
    const old = { metadata: { name: 'c', namespace: 'a', annotations }, spec: {} }
    expect(await classOf(old)).toBeUndefined()
    expect(await classOf(inA('c', { spec: {} }), { operation: 'UPDATE' })).toBeUndefined()
  })
})

describe('DefaultIngressClass', () => {
  const { admit, reader, resources } = admissionWorld(['DefaultIngressClass'])
  const { ingresses: resource, ingressClasses } = resources
  const classOf = async (ingress: KubeObject): Promise<unknown> =>
    (await admit({ resource, object: ingress }))?.['spec']?.ingressClassName as unknown

  test('an Ingress gets the newest default unless it names one', async () => {
    expect(await classOf(inA('i', { spec: {} }))).toBeUndefined()
    const mark = 'ingressclass.kubernetes.io/is-default-class'
    reader.put(ingressClasses, marked('a', mark, 2020))
    reader.put(ingressClasses, marked('b', mark, 2021))
    expect(await classOf(inA('i', { spec: {} }))).toBe('b')
    expect(await classOf(inA('i', { spec: { ingressClassName: 'own' } }))).toBe('own')
    const annotations = { 'kubernetes.io/ingress.class': 'nginx' }
    expect(
      await classOf({ metadata: { name: 'i', namespace: 'a', annotations }, spec: {} }),
    ).toBeUndefined()
  })
})

describe('StorageObjectInUseProtection', () => {
  const { admit, resources } = admissionWorld(['StorageObjectInUseProtection'])
  test('volumes and claims get their finalizer once', async () => {
    const finalizersOf = async (resource: typeof resources.pods, finalizers?: string[]) =>
      (
        await admit({
          resource,
          object: { metadata: { name: 'x', ...(finalizers && { finalizers }) } },
        })
      )?.metadata.finalizers
    expect(await finalizersOf(resources.persistentVolumes)).toEqual(['kubernetes.io/pv-protection'])
    expect(await finalizersOf(resources.persistentVolumeClaims, ['x/y'])).toEqual([
      'x/y',
      'kubernetes.io/pvc-protection',
    ])
    const own = ['kubernetes.io/pvc-protection']
    expect(await finalizersOf(resources.persistentVolumeClaims, own)).toEqual(own)
    expect(await finalizersOf(resources.configMaps)).toBeUndefined()
  })
})

describe('PersistentVolumeClaimResize', () => {
  const { outcome, reader, resources } = admissionWorld(['PersistentVolumeClaimResize'])
  reader.put(resources.storageClasses, {
    metadata: { name: 'grows' },
    allowVolumeExpansion: true,
  } as KubeObject)
  reader.put(resources.storageClasses, { metadata: { name: 'fixed' } })
  const claim = (storage: string, storageClassName = 'grows', phase = 'Bound'): KubeObject =>
    inA('c', {
      spec: { storageClassName, resources: { requests: { storage } } },
      status: { phase },
    })
  const fixed =
    '403 persistentvolumeclaims "c" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize'
  test.each<[string, KubeObject, KubeObject, string]>([
    ['grows in a class that allows it', claim('1Gi'), claim('2Gi'), 'admitted'],
    ['stays as it is', claim('1Gi', 'fixed'), claim('1024Mi', 'fixed'), 'admitted'],
    ['shrinks, which validation judges', claim('2Gi', 'fixed'), claim('1Gi', 'fixed'), 'admitted'],
    ['grows in a class that does not', claim('1Gi', 'fixed'), claim('2Gi', 'fixed'), fixed],
    ['grows in a class that is gone', claim('1Gi', 'gone'), claim('2Gi', 'gone'), fixed],
    ['grows without a class', claim('1Gi', ''), claim('2Gi', ''), fixed],
    [
      'is not bound',
      claim('1Gi', 'grows', 'Pending'),
      claim('2Gi'),
      '403 persistentvolumeclaims "c" is forbidden: Only bound persistent volume claims can be expanded',
    ],
  ])('a claim that %s', async (_what, old, object, expected) => {
    const resource = resources.persistentVolumeClaims
    expect(await outcome({ resource, operation: 'UPDATE', old, object })).toBe(expected)
  })
})

describe('RuntimeClass', () => {
  const { admit, outcome, reader, resources } = admissionWorld(['RuntimeClass'])
  const { pods: resource, runtimeClasses } = resources
  reader.put(runtimeClasses, {
    metadata: { name: 'heavy' },
    handler: 'h',
    overhead: { podFixed: { memory: '100Mi' } },
    scheduling: {
      nodeSelector: { runtime: 'heavy' },
      tolerations: [{ key: 'heavy', operator: 'Exists', effect: 'NoSchedule' }],
    },
  } as KubeObject)
  reader.put(runtimeClasses, { metadata: { name: 'light' }, handler: 'l' } as KubeObject)
  const pod = (spec: object): KubeObject => inA('p', { spec: { containers: [], ...spec } })
  const why = (spec: object): Promise<string> =>
    outcome({ resource, object: pod(spec) }).then((text) =>
      text.replace('403 pods "p" is forbidden: ', ''),
    )

  test('a pod gets the overhead, node selector and tolerations of its class', async () => {
    const own = { key: 'own', operator: 'Exists', effect: 'NoExecute' }
    const spec = { runtimeClassName: 'heavy', nodeSelector: { zone: 'a' }, tolerations: [own] }
    expect((await admit({ resource, object: pod(spec) }))?.['spec']).toEqual({
      containers: [],
      runtimeClassName: 'heavy',
      overhead: { memory: '100Mi' },
      nodeSelector: { zone: 'a', runtime: 'heavy' },
      tolerations: [own, { key: 'heavy', operator: 'Exists', effect: 'NoSchedule' }],
    })
    const light = pod({ runtimeClassName: 'light' })
    expect(await admit({ resource, object: light })).toEqual(light)
    expect(await admit({ resource, object: pod({}) })).toEqual(pod({}))
  })

  test.each<[string, object, string]>([
    ['is not there', { runtimeClassName: 'gone' }, 'pod rejected: RuntimeClass "gone" not found'],
    [
      'has another overhead',
      { runtimeClassName: 'heavy', overhead: { memory: '1Mi' } },
      "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ],
    [
      'has no overhead',
      { runtimeClassName: 'light', overhead: { memory: '1Mi' } },
      'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
    ],
    [
      'runs on other nodes',
      { runtimeClassName: 'heavy', nodeSelector: { runtime: 'x' } },
      'conflict: runtimeClass.scheduling.nodeSelector[runtime] = heavy; pod.spec.nodeSelector[runtime] = x',
    ],
  ])('a pod whose class %s is rejected', async (_what, spec, expected) => {
    expect(await why(spec)).toBe(expected)
  })

  test('the same overhead in other words is accepted', async () => {
    expect(await why({ runtimeClassName: 'heavy', overhead: { memory: '102400Ki' } })).toBe(
      'admitted',
    )
    expect(await why({ overhead: { memory: '1' } })).toContain('Pod Overhead set without')
  })
})

describe('ClusterTrustBundleAttest', () => {
  const attester: Authorizer = {
    name: 'x',
    authorize: ({ verb, resource, name }) => ({
      decision:
        verb === 'attest' && resource === 'signers' && name === 'example.com/*'
          ? 'allow'
          : 'no-opinion',
      reason: '',
    }),
  }
  const { outcome, resources } = admissionWorld(['ClusterTrustBundleAttest'], {
    authorizer: attester,
  })
  const { clusterTrustBundles: resource } = resources
  const bundle = (signerName?: string, more: object = {}): KubeObject => ({
    metadata: { name: 'b', ...more },
    spec: { ...(signerName && { signerName }), trustBundle: 'pem' },
  })
  test('a bundle of a signer needs the right to attest for it', async () => {
    expect(await outcome({ resource, object: bundle() })).toBe('admitted')
    expect(await outcome({ resource, object: bundle('example.com/a') })).toBe('admitted')
    expect(await outcome({ resource, object: bundle('other.com/a') })).toBe(
      '403 clustertrustbundles.certificates.k8s.io "b" is forbidden: user not permitted to attest for signerName "other.com/a"',
    )
  })
  test('garbage collection may release it without', async () => {
    const old = bundle('other.com/a', { finalizers: ['x/y'] })
    const ask = { resource, operation: 'UPDATE', old } as const
    expect(await outcome({ ...ask, object: bundle('other.com/a') })).toBe('admitted')
    const changed = { ...old, spec: { signerName: 'other.com/a', trustBundle: 'new' } }
    expect(await outcome({ ...ask, object: changed })).toContain('not permitted to attest')
  })
})
