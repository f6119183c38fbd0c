/** Encryption at rest as an operator does it: turned on in a running cluster, what was there rewritten, a key rotated; with a KMS. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { statePaths } from '../../cluster/state/state-dir.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { kmsProvider, startKmsPlugin } from '../support/kms-plugin.ts'
import { encryptionConfig, provider } from '../support/raw-store.ts'
import { createPlace } from './place.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

test('secrets are encrypted, rewritten with a new key, and read after a restart; the file holds none in plain', async () => {
  const file = join(place.root, 'encryption.yaml')
  const write = (...providers: unknown[]): void =>
    writeFileSync(file, encryptionConfig('k8s.io', { resources: ['secrets'], providers }), {
      mode: 0o600,
    })
  write(provider('aesgcm', { k1: 'a' }))
  const flags = ['--nodes', '1', '--set', `api-server.encryption-provider-config=${file}`]
  const cluster = await place.up('lab', flags)
  const secrets = cluster.client.resource(resourcesOf(cluster.client.dialect).secrets)
  await secrets.create({
    metadata: { name: 's', namespace: 'default' },
    stringData: { password: 'correct-horse-battery' },
  })
  const skiff = (...words: string[]) => place.cluster('lab').skiff(...words)

  write(provider('secretbox', { k2: 'b' }), provider('aesgcm', { k1: 'a' }))
  await skiff('restart', 'api-server')
  const { resources } = JSON.parse(await skiff('storage', 'rewrite', 'secrets', '-o', 'json')) as {
    resources: { resource: string; objects: number; rewritten: number; failed: unknown[] }[]
  }
  expect(resources).toMatchObject([{ resource: 'secrets', failed: [] }])
  expect(resources[0]?.rewritten).toBe(resources[0]?.objects)
  expect(await skiff('storage', 'rewrite', 'secrets')).toMatch(
    /^RESOURCE +OBJECTS +REWRITTEN +UNCHANGED +FAILED\nsecrets +\d+ +0 +\d+ +0\n$/,
  )

  write(provider('secretbox', { k2: 'b' }))
  await skiff('restart', 'api-server')
  const again = await secrets.get({ namespace: 'default', name: 's' })
  expect(Buffer.from(again['data'].password as string, 'base64').toString()).toBe(
    'correct-horse-battery',
  )
  cluster.disconnect()
  await place.run(['down', '--keep-data', '--name', 'lab'])
  const bytes = readFileSync(statePaths(place.stateRoot, 'lab').store)
  expect(bytes.includes(Buffer.from('correct-horse-battery').toString('base64'))).toBe(false)
  expect(bytes.includes('k8s:enc:secretbox:v1:k2:')).toBe(true)
})

test('a KMS plugin’s key is rotated: every secret is rewritten under the new one, and the old one can go', async () => {
  await using plugin = await startKmsPlugin()
  const file = join(place.root, 'kms.yaml')
  const providers = [kmsProvider('vault', plugin), { identity: {} }]
  writeFileSync(file, encryptionConfig('k8s.io', { resources: ['secrets'], providers }), {
    mode: 0o600,
  })
  const flags = ['--nodes', '1', '--set', `api-server.encryption-provider-config=${file}`]
  const cluster = await place.up('kms', flags)
  const secrets = cluster.client.resource(resourcesOf(cluster.client.dialect).secrets)
  await secrets.create({
    metadata: { name: 's', namespace: 'default' },
    stringData: { password: 'correct-horse-battery' },
  })
  const skiff = (...words: string[]) => place.cluster('kms').skiff(...words)
  const old = plugin.keyId
  const fresh = plugin.rotate()
  // A server that starts asks for the key id at once.
  await skiff('restart', 'api-server')
  const rewrite = async () =>
    JSON.parse(await skiff('storage', 'rewrite', 'secrets', '-o', 'json')) as {
      resources: { objects: number; rewritten: number; failed: unknown[] }[]
    }
  const [rewritten] = (await rewrite()).resources
  expect(rewritten?.failed).toEqual([])
  expect(rewritten?.rewritten).toBe(rewritten?.objects)
  expect((await rewrite()).resources).toMatchObject([{ rewritten: 0, failed: [] }])

  plugin.forget(old)
  await skiff('restart', 'api-server')
  const again = await secrets.get({ namespace: 'default', name: 's' })
  expect(Buffer.from(again['data'].password as string, 'base64').toString()).toBe(
    'correct-horse-battery',
  )
  cluster.disconnect()
  await place.run(['down', '--keep-data', '--name', 'kms'])
  const bytes = readFileSync(statePaths(place.stateRoot, 'kms').store)
  expect(bytes.includes(Buffer.from('correct-horse-battery').toString('base64'))).toBe(false)
  expect(bytes.includes('k8s:enc:kms:v2:vault:')).toBe(true)
  expect(bytes.includes(fresh)).toBe(true)
})
