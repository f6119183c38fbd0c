/** kubectl's discovery under ABAC: what a policy has to expose. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect } from 'vitest'
import { startApiServer, user, type TestApiServer } from '../support/api-server.ts'
import { run } from '../e2e/program.ts'
import { requireKubectl } from '../e2e/kubectl.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { writeKubeconfig } from '../support/test-kubeconfig.ts'

const kubectl = requireKubectl()
let folder: string
beforeAll(() => {
  folder = temporaryFolder('kubectl-abac')
})

const discovery = ['/api', '/api/*', '/apis', '/apis/*', '/version', '/swaggerapi/*']

async function serverWith(specs: readonly unknown[]): Promise<TestApiServer> {
  const policy = join(folder, `policy-${specs.length}.jsonl`)
  const apiVersion = 'abac.authorization.kubernetes.io/v1beta1'
  const line = (spec: unknown) => JSON.stringify({ apiVersion, kind: 'Policy', spec })
  writeFileSync(policy, specs.map(line).join('\n'))
  return await startApiServer({
    flags: ['--authorization-mode=ABAC', `--authorization-policy-file=${policy}`],
  })
}

async function apiResources(server: TestApiServer) {
  const config = join(folder, 'kubeconfig')
  writeKubeconfig(config, server, user('jane'))
  const cache = mkdtempSync(join(folder, 'cache-'))
  const words = ['--kubeconfig', config, '--cache-dir', cache, 'api-resources']
  return await run(kubectl.path, words, { timeoutMs: 90_000 })
}

describe('kubectl under ABAC', () => {
  kubectl.test(
    '[ABAC-019] discovers when the policy exposes the paths of discovery, and not without',
    async () => {
      await using open = await serverWith(
        discovery.map((nonResourcePath) => ({ user: 'jane', nonResourcePath })),
      )
      const found = await apiResources(open)
      expect(found.stderr).toBe('')
      expect(found.code).toBe(0)
      expect(found.stdout).toContain('deployments')
      await using shut = await serverWith([
        { user: 'jane', resource: '*', namespace: '*', apiGroup: '*' },
      ])
      const refused = await apiResources(shut)
      expect(refused.code).not.toBe(0)
      expect(refused.stderr).toMatch(/forbidden/i)
      expect((await shut.request('GET', '/api', { as: user('jane') })).status).toBe(403)
    },
  )
})
