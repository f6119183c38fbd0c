/** An API server as a process, killed without warning, with a KMS plugin that comes and goes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startChildApiServer } from '../../../support/child-api-server.ts'
import { eventually } from '../../../support/eventually.ts'
import { kmsProvider, startKmsPlugin } from '../../../support/kms-plugin.ts'
import { encryptionConfig } from '../../../support/raw-store.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const secrets = '/api/v1/namespaces/default/secrets'

test('secrets outlive kill -9 of the server; without the plugin it starts, is not ready, and gets well by itself', async () => {
  await using plugin = await startKmsPlugin()
  const file = join(temporaryFolder('kms-process'), 'enc.yaml')
  const providers = [kmsProvider('vault', plugin, { timeout: '500ms' })]
  writeFileSync(file, encryptionConfig('k8s.io', { resources: ['secrets'], providers }), {
    mode: 0o600,
  })
  await using server = await startChildApiServer({
    flags: [`--encryption-provider-config=${file}`],
  })
  const body = { metadata: { name: 's' }, stringData: { password: 'correct-horse' } }
  // On a loaded machine the plugin may answer too late.
  const made = await eventually(async () => {
    const answer = await server.request('POST', secrets, { body })
    expect(answer.status).toBe(201)
    return answer
  })
  await server.kill()
  const read = async () => await server.request('GET', `${secrets}/s`)
  await eventually(async () => expect((await read()).body).toEqual(made.body))

  await plugin.stop()
  await server.kill()
  const unread = await read()
  expect(unread.status).toBe(500)
  expect(unread.body.message).toContain(`KMS provider "vault" at ${plugin.endpoint}: it was not`)
  expect((await server.request('GET', '/readyz')).status).toBe(500)
  expect((await server.request('GET', '/livez')).status).toBe(200)
  const others = await server.request('POST', '/api/v1/namespaces/default/configmaps', {
    body: { metadata: { name: 'c' } },
  })
  expect(others.status).toBe(201)
  await eventually(() => expect(server.errors).toContain('KMS provider is not healthy'))
  expect(server.errors).toContain(plugin.endpoint)

  await plugin.start()
  await eventually(async () => expect((await read()).body).toEqual(made.body))
  await eventually(async () => expect((await server.request('GET', '/readyz')).status).toBe(200))
})
