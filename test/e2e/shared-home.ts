/** A folder for what the processes of one run of tests share. It goes after the last test, and with it every cluster in it. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { removeHome } from './cluster.ts'

declare module 'vitest' {
  interface ProvidedContext {
    sharedHome: string
  }
}

let home: string | undefined

/** Called by vitest before and after all test files. Nothing is started here: the first test that asks for a cluster starts it. */
export function setup(project: TestProject): void {
  home = mkdtempSync(join(tmpdir(), 'skiff-clients-'))
  project.provide('sharedHome', home)
}

export async function teardown(): Promise<void> {
  if (home !== undefined) await removeHome(home)
}
