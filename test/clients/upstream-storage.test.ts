/** Upstream's storage libraries, those of a kube-apiserver 1.32, on the etcd of a running API server. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { startApiServer, type TestApiServer } from '../support/api-server.ts'
import { requireEtcd, startEtcd, type TestEtcd } from '../support/etcd.ts'
import { goTest, goTimeoutMs, requireGo } from '../support/go.ts'
import { samples } from '../support/one-of-each.ts'
import { encryptionConfig, provider } from '../support/raw-store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const module = join(import.meta.dirname, 'fixtures/upstream-storage')
const test = requireGo(module)
const folder = temporaryFolder('upstream-storage')
const ends: (() => PromiseLike<void>)[] = []
afterAll(async () => {
  for (const end of ends.toReversed()) await end()
})

const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text, { mode: 0o600 })
  return join(folder, name)
}

async function serverOn(etcd: TestEtcd, flags: readonly string[]): Promise<TestApiServer> {
  const store = [`--store=etcd:${etcd.url}`, '--runtime-config=api/all=true']
  const gates = '--feature-gates=AllAlpha=true,AllBeta=true,APIServerIdentity=false'
  const server = await startApiServer({ flags: [...store, gates, ...flags] })
  ends.push(() => server[Symbol.asyncDispose]())
  return server
}

const jsonPatchPolicy = {
  matchConstraints: {
    resourceRules: [
      { apiGroups: ['x.y'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] },
    ],
  },
  failurePolicy: 'Ignore',
  reinvocationPolicy: 'Never',
  mutations: [
    { patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/x"}]' } },
  ],
}
const deviceRequest = { name: 'a', deviceClassName: 'one' }

/** Kinds behind feature gates, by path below /apis. */
const gated: Readonly<Record<string, object>> = {
  'admissionregistration.k8s.io/v1alpha1/mutatingadmissionpolicies': { spec: jsonPatchPolicy },
  'admissionregistration.k8s.io/v1alpha1/mutatingadmissionpolicybindings': {
    spec: { policyName: 'none' },
  },
  'coordination.k8s.io/v1alpha2/namespaces/default/leasecandidates': {
    spec: {
      leaseName: 'l',
      binaryVersion: '1.32.0',
      emulationVersion: '1.32.0',
      strategy: 'OldestEmulationVersion',
    },
  },
  'internal.apiserver.k8s.io/v1alpha1/storageversions': {
    metadata: { name: 'x.things' },
    spec: {},
    status: {},
  },
  'networking.k8s.io/v1beta1/servicecidrs': { spec: { cidrs: ['10.200.0.0/24'] } },
  'networking.k8s.io/v1beta1/ipaddresses': {
    metadata: { name: '10.200.0.9' },
    spec: { parentRef: { resource: 'services', name: 'x', namespace: 'default' } },
  },
  'resource.k8s.io/v1beta1/deviceclasses': {
    spec: { selectors: [{ cel: { expression: 'true' } }] },
  },
  'resource.k8s.io/v1beta1/namespaces/default/resourceclaims': {
    spec: { devices: { requests: [deviceRequest] } },
  },
  'resource.k8s.io/v1beta1/namespaces/default/resourceclaimtemplates': {
    spec: { spec: { devices: { requests: [deviceRequest] } } },
  },
  'resource.k8s.io/v1beta1/resourceslices': {
    spec: {
      driver: 'd.example.com',
      nodeName: 'n',
      pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
      devices: [{ name: 'd', basic: {} }],
    },
  },
  'storage.k8s.io/v1beta1/volumeattributesclasses': {
    driverName: 'd.example.com',
    parameters: { a: 'b' },
  },
  'storagemigration.k8s.io/v1alpha1/storageversionmigrations': {
    spec: { resource: { group: 'x.y', version: 'v1', resource: 'things' } },
  },
}

async function fill(server: TestApiServer): Promise<void> {
  const { request } = server
  const { certificatePem: trustBundle } = server.pki.authority
  const create = async (path: string, body: object): Promise<void> => {
    const { status, text } = await request('POST', path, { body })
    // The same object in another version is there already.
    expect([201, 409], `${path} ${text}`).toContain(status)
  }
  await create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } })
  for (const { path, body } of samples(server, 'default', 'one')) await create(path, body)
  await create('/apis/certificates.k8s.io/v1alpha1/clustertrustbundles', {
    metadata: { name: 'one' },
    spec: { trustBundle },
  })
  for (const [path, body] of Object.entries(gated))
    await create(`/apis/${path}`, { metadata: { name: 'one' }, ...body })
  await expect
    .poll(() => request('GET', '/apis/example.com/v1/things'), { timeout: 60_000 })
    .toMatchObject({ status: 200 })
  await create('/apis/example.com/v1/namespaces/default/things', {
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: { name: 'one' },
  })
}

function passed(output: string): string[] {
  return [...output.matchAll(/^--- PASS: (\w+)/gm)].map(([, name = '']) => name).toSorted()
}

requireEtcd()('upstream’s storage libraries', () => {
  test(
    'read, update, watch and create objects of every kind beside the server, also encrypted ones',
    async () => {
      const etcd = await startEtcd()
      ends.push(() => etcd.kill())
      const server = await serverOn(etcd, [])
      await fill(server)
      const config = encryptionConfig(
        'k8s.io',
        { resources: ['secrets'], providers: [provider('aesgcm', { k1: 'a' })] },
        { resources: ['configmaps'], providers: [provider('aescbc', { k1: 'b' })] },
        { resources: ['limitranges'], providers: [provider('secretbox', { k1: 'c' })] },
      )
      const encryption = file('encryption.json', config)
      const encrypted = await serverOn(etcd, [
        '--etcd-prefix=/other/place',
        `--encryption-provider-config=${encryption}`,
      ])
      const inDefault = '/api/v1/namespaces/default'
      for (const [path, body] of Object.entries({
        secrets: { stringData: { a: 'b' } },
        configmaps: { data: { a: 'b' } },
        limitranges: { spec: { limits: [] } },
      }))
        await encrypted.ok('POST', `${inDefault}/${path}`, {
          body: { metadata: { name: 'one' }, ...body },
        })
      const { pki } = server
      const admin = pki.credentials.admin
      const { code, output } = await goTest(module, {
        ETCD: etcd.url,
        PREFIX: '/registry',
        SERVER: `https://127.0.0.1:${server.port}`,
        SERVER_CA: file('ca.crt', pki.authority.certificatePem),
        SERVER_CERT: file('admin.crt', admin.certificatePem),
        SERVER_KEY: file('admin.key', admin.privateKeyPem),
        ENCRYPTED_SERVER: `https://127.0.0.1:${encrypted.port}`,
        ENCRYPTED_PREFIX: '/other/place',
        ENCRYPTION_CONFIG: encryption,
      })
      expect(passed(output), output).toEqual([
        'TestDefinitionsAndCustomResourcesAreSharedWithUpstream',
        'TestSecretsAreEncryptedForBoth',
        'TestTheServerShowsWhatUpstreamStored',
        'TestUpstreamReadsUpdatesAndWatchesWhatTheServerStored',
      ])
      expect(code, output).toBe(0)
      expect([...server.faults, ...encrypted.faults]).toEqual([])
    },
    goTimeoutMs,
  )
})
