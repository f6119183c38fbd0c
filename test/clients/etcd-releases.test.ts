/** The store on releases of etcd that systems do not have yet, built from their source: the contract, the model and the failures. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { run } from '../e2e/program.ts'
import { goTimeoutMs, requireGo } from '../support/go.ts'
import { removeTemporaryFolders, temporaryFolder } from '../support/temporary-folder.ts'

const root = join(import.meta.dirname, '..', '..')
const files = ['etcd-store', 'etcd-shared', 'etcd-failures'].map(
  (name) => `test/store/${name}.test.ts`,
)
/** Without what is meant for the run that this test is in. */
const { TEST_STORE: _store, TEST_SUMMARY: _summary, ...environment } = process.env
afterAll(removeTemporaryFolders)

/** etcd as a program of that module; Go keeps what it has compiled. */
function build(module: string): string {
  const program = join(temporaryFolder('etcd-program'), 'etcd')
  const words = ['build', '-ldflags=-s -w', '-o', program, 'go.etcd.io/etcd/server/v3']
  execFileSync('go', words, {
    cwd: module,
    stdio: 'pipe',
    timeout: goTimeoutMs,
    env: { ...process.env, CGO_ENABLED: '0' },
  })
  return program
}

for (const release of ['3.5', '3.6']) {
  const module = join(import.meta.dirname, 'fixtures', `etcd-${release}`)
  requireGo(module)(
    `the store passes its tests on etcd ${release}`,
    async () => {
      const vitest = join(root, 'node_modules/vitest/vitest.mjs')
      const outcome = await run(process.execPath, [vitest, 'run', ...files], {
        cwd: root,
        env: { ...environment, SKIFF_TEST_ETCD: build(module) },
        timeoutMs: goTimeoutMs,
      })
      expect(outcome.stdout, outcome.stderr).toContain('3 passed')
      expect(outcome.code, `${outcome.stdout}\n${outcome.stderr}`).toBe(0)
    },
    goTimeoutMs,
  )
}
