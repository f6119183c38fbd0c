/** Runs the `openssl` command on texts: the second opinion of the certificate tests. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A folder for files. */
export function temporaryFiles(): {
  path: string
  file: (name: string, content: string | Buffer) => string
} {
  const path = temporaryFolder('certs-test')
  return {
    path,
    file: (name, content) => {
      writeFileSync(join(path, name), content)
      return join(path, name)
    },
  }
}

/** Standard output; throws with standard error when it fails. */
export function openssl(...args: string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
