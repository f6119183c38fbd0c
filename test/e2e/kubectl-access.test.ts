/** kubectl against an API server in both dialects: tokens of accounts, and roles that are brought in line. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { createKubeconfig } from '../../components/client/kubeconfig.ts'
import { admin, startApiServer, user, type TestApiServer } from '../support/api-server.ts'
import { whoami } from '../support/whoami.ts'
import { kubectlFor, requireKubectl, type Kubectl } from './kubectl.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const { path, test } = requireKubectl()

describe.each(['kubernetes', 'svc'] as const)('access with kubectl, dialect %s', (dialect) => {
  let server: TestApiServer
  let home: string
  let kubectl: Kubectl
  beforeAll(async () => {
    home = temporaryFolder('kubectl-access')
    server = await startApiServer({ dialect })
    const shown = server.credential(admin)
    const kubeconfig = join(home, 'config')
    const config = createKubeconfig({
      cluster: 'test',
      server: `https://127.0.0.1:${server.port}`,
      ca: server.pki.authority.certificatePem,
      user: 'admin',
      credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
    })
    writeFileSync(kubeconfig, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...config }))
    kubectl = await kubectlFor(
      { home, kubeconfig },
      { path, namespace: 'access', hasControllers: false },
    )
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })

  test('[AUTHN-027] create token makes a token of an account that there is', async () => {
    await kubectl.ok`create serviceaccount robot`
    const account = '/api/v1/namespaces/access/serviceaccounts/robot/token'
    // Stock kubectl asks for kinds of one dialect.
    const token: string =
      dialect === 'kubernetes'
        ? await kubectl.ok`create token robot`
        : (await server.ok('POST', account, { body: { spec: {} } })).status.token
    expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
    expect((await whoami(server, token)).user?.username).toBe('system:serviceaccount:access:robot')
    if (dialect === 'kubernetes') {
      const { stderr } = await kubectl.fails`create token nobody`
      expect(stderr).toContain('serviceaccounts "nobody" not found')
    }
    const missing = await server.request(
      'POST',
      '/api/v1/namespaces/access/serviceaccounts/nobody/token',
      { body: { spec: {} } },
    )
    expect(missing.status).toBe(404)
  })

  test('[RBAC-024] another role for a binding takes a new binding, which is what reconcile makes', async () => {
    const group = server.group('rbac.authorization')
    const bindings = `/apis/${group}/v1/namespaces/access/rolebindings`
    const binding = (role: string) => ({
      apiVersion: `${group}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'changed', namespace: 'access' },
      roleRef: { apiGroup: group, kind: 'Role', name: role },
      subjects: [{ apiGroup: group, kind: 'User', name: 'jane' }],
    })
    for (const [name, resource] of [
      ['pod-reader', 'pods'],
      ['map-reader', 'configmaps'],
    ] as const) {
      await server.ok('POST', `/apis/${group}/v1/namespaces/access/roles`, {
        body: {
          metadata: { name },
          rules: [{ apiGroups: [''], resources: [resource], verbs: ['list'] }],
        },
      })
    }
    const statuses = async (): Promise<number[]> => [
      (await server.request('GET', '/api/v1/namespaces/access/pods', { as: user('jane') })).status,
      (await server.request('GET', '/api/v1/namespaces/access/configmaps', { as: user('jane') }))
        .status,
    ]
    await server.ok('POST', bindings, { body: binding('pod-reader') })
    expect(await statuses()).toEqual([200, 403])
    await server.ok('DELETE', `${bindings}/changed`)
    await server.ok('POST', bindings, { body: binding('map-reader') })
    expect(await statuses()).toEqual([403, 200])
    if (dialect === 'kubernetes') {
      const before = await server.ok('GET', `${bindings}/changed`)
      const wanted = kubectl.withInput(JSON.stringify(binding('pod-reader')))
      expect(await wanted.ok`auth reconcile -f -`).toContain('reconciled')
      expect(await statuses()).toEqual([200, 403])
      const after = await server.ok('GET', `${bindings}/changed`)
      expect(after.metadata.uid).not.toBe(before.metadata.uid)
    }
  })
})
