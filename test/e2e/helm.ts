/** Stock helm, and running it against a cluster. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'vitest'
import { run } from './program.ts'
import type { Outcome } from './program.ts'

export type Helm = (...words: readonly string[]) => Promise<Outcome>

/** The helm that `SKIFF_TEST_HELM` names, else the one in the PATH. */
function findHelm(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const paths = folders.map((folder) => join(folder, 'helm'))
  return [process.env['SKIFF_TEST_HELM'] ?? '', ...paths].find((path) => existsSync(path))
}

/** The tests that need helm. Where there is none they are skipped, and standard error says so. */
export function requireHelm(): { path: string; test: typeof test | typeof test.skip } {
  const path = findHelm()
  if (path !== undefined) return { path, test }
  const message = 'NOT TESTED with helm: there is none in the PATH and none in SKIFF_TEST_HELM'
  process.stderr.write(`${message}\n`)
  test.skip(message, () => {})
  return { path: 'helm', test: test.skip }
}

/** That program with a client's environment; what it keeps goes below its HOME. */
export function helmWith(path: string, env: NodeJS.ProcessEnv): Helm {
  const home = join(env['HOME'] ?? '', 'helm')
  const own = {
    HELM_CACHE_HOME: join(home, 'cache'),
    HELM_CONFIG_HOME: join(home, 'config'),
    HELM_DATA_HOME: join(home, 'data'),
  }
  return (...words) => run(path, words, { env: { ...env, ...own }, timeoutMs: 120_000 })
}
