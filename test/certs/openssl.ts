/** Runs the `openssl` command on texts: the second opinion of the certificate tests. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder for one test's files, gone when the test's scope ends. */
export function temporaryFolder(): Disposable & {
  path: string
  file: (name: string, content: string | Buffer) => string
} {
  const path = mkdtempSync(join(tmpdir(), 'certs-test-'))
  return {
    path,
    file: (name, content) => {
      writeFileSync(join(path, name), content)
      return join(path, name)
    },
    [Symbol.dispose]: () => {
      rmSync(path, { recursive: true })
    },
  }
}

/** Standard output; throws with standard error when it fails. */
export function openssl(...args: string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
