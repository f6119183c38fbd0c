import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { admin, startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const run = promisify(execFile)
let server: TestApiServer
const folder = temporaryFolder('skiff-kubectl')

beforeAll(async () => {
  server = await startApiServer()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

function kubeconfig(): string {
  const shown = server.credential(admin)
  const data = (pem: string | undefined): string => Buffer.from(pem ?? '').toString('base64')
  const path = join(folder, 'kubeconfig')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'test',
        cluster: {
          server: `https://127.0.0.1:${server.port}`,
          'certificate-authority-data': data(server.pki.authority.certificatePem),
        },
      },
    ],
    users: [
      {
        name: 'admin',
        user: {
          'client-certificate-data': data(shown?.certificatePem),
          'client-key-data': data(shown?.privateKeyPem),
        },
      },
    ],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    'current-context': 'test',
  }
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 })
  return path
}

it('[RES-022] kubectl creates the three objects of a manifest with one request each', async () => {
  const namespace = await server.namespace()
  const manifest = join(folder, 'three.yaml')
  const names = ['one', 'two', 'three']
  writeFileSync(
    manifest,
    names
      .map((name) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`)
      .join('---\n'),
  )
  await run('kubectl', ['create', '-n', namespace, '-f', manifest], {
    env: { ...process.env, KUBECONFIG: kubeconfig(), HOME: folder },
    timeout: 170_000,
  })
  await expect
    .poll(() =>
      server
        .audit()
        .filter(
          ({ verb, objectRef }) =>
            verb === 'create' &&
            objectRef?.['resource'] === 'configmaps' &&
            objectRef['namespace'] === namespace,
        )
        .map(({ responseStatus }) => responseStatus.code),
    )
    .toEqual([201, 201, 201])
  for (const name of names) {
    await server.ok('GET', `/api/v1/namespaces/${namespace}/configmaps/${name}`)
  }
})
