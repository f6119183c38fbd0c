import { generateKeyPairSync, verify } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects, labelKey } from '../../../components/api/dialect.ts'
import type { Dialect } from '../../../components/api/dialect.ts'
import type { ConfigMap, Secret } from '../../../components/api/generated/types.ts'
import { rootCaPublisher } from '../../../components/controller-manager/root-ca-publisher.ts'
import { defaultServiceAccount } from '../../../components/controller-manager/service-accounts/default-service-account.ts'
import { createTokenSigner } from '../../../components/controller-manager/service-accounts/legacy-token.ts'
import { serviceAccountTokens } from '../../../components/controller-manager/service-accounts/token-secrets.ts'
import { keyOf } from '../../../components/machinery/objects/object.ts'
import { createHarness } from '../../support/controller-harness.ts'
import type { Harness } from '../../support/controller-harness.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'

const harnesses: Harness[] = []
afterEach(async () => {
  for (const harness of harnesses.splice(0)) await harness.stop()
})

const folder = temporaryFolder('accounts')
const caFile = join(folder, 'ca.crt')
const keyFile = join(folder, 'sa.key')
const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
writeFileSync(caFile, 'CA\n')
writeFileSync(keyFile, keys.privateKey.export({ type: 'pkcs8', format: 'pem' }))

function harnessFor(dialect: Dialect) {
  const flags = [`--root-ca-file=${caFile}`, `--service-account-private-key-file=${keyFile}`]
  const harness = createHarness({ dialect, flags })
  harnesses.push(harness)
  return harness
}
const both = describe.each([dialects.kubernetes, dialects.svc])

both('default service account ($name)', (dialect) => {
  it('is in every active namespace, and comes back when deleted', async () => {
    const harness = harnessFor(dialect)
    const { cluster, resources } = harness
    cluster.seed(resources.namespaces, { metadata: { name: 'one' } })
    cluster.seed(resources.namespaces, {
      metadata: { name: 'ending' },
      status: { phase: 'Terminating' },
    })
    await harness.start(defaultServiceAccount)
    const accounts = () => cluster.all(resources.serviceAccounts).map(keyOf)
    expect(accounts()).toEqual(['one/default'])
    cluster.seed(resources.namespaces, { metadata: { name: 'two' } })
    cluster.remove(resources.serviceAccounts, 'one/default')
    await harness.settle()
    expect(accounts().toSorted()).toEqual(['one/default', 'two/default'])
  })
})

both('root certificate publisher ($name)', (dialect) => {
  it('keeps the authority in every active namespace as it is in the file', async () => {
    const harness = harnessFor(dialect)
    const { cluster, resources } = harness
    cluster.seed(resources.namespaces, { metadata: { name: 'one' } })
    await harness.start(rootCaPublisher)
    const key = `one/${dialect.rootCaConfigMap}`
    const data = () => cluster.peek<ConfigMap>(resources.configMaps, key)?.data
    await expect.poll(data).toBeDefined()
    expect(data()).toEqual({ 'ca.crt': 'CA\n' })
    cluster.change(resources.configMaps, key, (object) => {
      object['data'] = { 'ca.crt': 'forged', more: 'x' }
    })
    await harness.settle()
    expect(data()).toEqual({ 'ca.crt': 'CA\n' })
    cluster.remove(resources.configMaps, key)
    await harness.settle()
    expect(data()).toEqual({ 'ca.crt': 'CA\n' })
    expect(harness.metricsText()).toMatch(
      /^root_ca_cert_publisher_sync_total\{code="200"\} [3-9]$/m,
    )
    cluster.react('create', 'configmaps', () => {
      throw new StatusError('Forbidden', 'no')
    })
    cluster.remove(resources.configMaps, key)
    await harness.settle()
    expect(harness.metricsText()).toMatch(
      /^root_ca_cert_publisher_sync_duration_seconds_count\{code="403"\} 1$/m,
    )
  })
})

both('service account token secrets ($name)', (dialect) => {
  const annotation = (name: string) => labelKey(dialect, '', `service-account.${name}`)

  async function start() {
    const harness = harnessFor(dialect)
    const { cluster, resources } = harness
    const addSecret = (name: string, annotations: Record<string, string>): void => {
      cluster.seed(resources.secrets, {
        metadata: { namespace: 'ns', name, annotations },
        type: labelKey(dialect, '', 'service-account-token'),
      })
    }
    cluster.seed(resources.serviceAccounts, {
      metadata: { namespace: 'ns', name: 'robot', uid: 'u1' },
      secrets: [{ name: 'token' }, { name: 'pull' }],
    })
    addSecret('token', { [annotation('name')]: 'robot' })
    await harness.start(serviceAccountTokens)
    const secret = (name = 'token') => cluster.peek<Secret>(resources.secrets, `ns/${name}`)
    const data = (key: string) => Buffer.from(secret()?.data?.[key] ?? '', 'base64').toString()
    await expect.poll(() => data('token')).not.toBe('')
    return { ...harness, addSecret, secret, data }
  }

  it('are filled with a token that the account’s key verifies, the authority and the namespace', async () => {
    const { secret, data } = await start()
    expect(data('ca.crt')).toBe('CA\n')
    expect(data('namespace')).toBe('ns')
    expect(secret()?.metadata.annotations?.[annotation('uid')]).toBe('u1')
    const [header = '', payload = '', signature = ''] = data('token').split('.')
    const isValid = verify(
      'sha256',
      Buffer.from(`${header}.${payload}`),
      { key: keys.publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    )
    expect(isValid).toBe(true)
    const own = `${dialect.labelDomain}/serviceaccount`
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toEqual({
      iss: `${dialect.name}/serviceaccount`,
      sub: 'system:serviceaccount:ns:robot',
      [`${own}/namespace`]: 'ns',
      [`${own}/secret.name`]: 'token',
      [`${own}/service-account.name`]: 'robot',
      [`${own}/service-account.uid`]: 'u1',
    })
  })

  it('go with their account, and when they are another account’s of that name', async () => {
    const { addSecret, cluster, resources, secret, settle } = await start()
    addSecret('stale', { [annotation('name')]: 'robot', [annotation('uid')]: 'u0' })
    addSecret('orphan', { [annotation('name')]: 'nobody' })
    await settle()
    expect(secret('stale')).toBeUndefined()
    expect(secret('orphan')).toBeUndefined()
    expect(secret()).toBeDefined()
    cluster.remove(resources.serviceAccounts, 'ns/robot')
    await settle()
    expect(secret()).toBeUndefined()
  })

  it('are no longer listed in their account once deleted', async () => {
    const { cluster, resources, settle } = await start()
    cluster.remove(resources.secrets, 'ns/token')
    await settle()
    expect(cluster.peek(resources.serviceAccounts, 'ns/robot')?.['secrets']).toEqual([
      { name: 'pull' },
    ])
  })
})

it('signs with RSA keys too, and refuses others', () => {
  const pem = (key: ReturnType<typeof generateKeyPairSync>['privateKey']) =>
    key.export({ type: 'pkcs8', format: 'pem' }).toString()
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const token = createTokenSigner(pem(rsa.privateKey)).sign({ a: 1 })
  const header: unknown = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())
  expect(header).toMatchObject({ alg: 'RS256' })
  const other = generateKeyPairSync('ed25519')
  expect(() => createTokenSigner(pem(other.privateKey))).toThrow('RSA or ECDSA')
})
