/** A folder for what the processes of one run of tests share. It goes after the last test, and with it every cluster in it. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { openPlace } from './place.ts'

declare module 'vitest' {
  interface ProvidedContext {
    sharedHome: string
    /** The process that runs all tests. */
    runnerPid: number
  }
}

let home: string | undefined

/** Called by vitest before and after all test files. Nothing is made here: the first test that asks for a cluster makes the folder and starts it. */
export function setup(project: TestProject): void {
  home = join(tmpdir(), 'shared')
  project.provide('sharedHome', home)
  project.provide('runnerPid', process.pid)
}

export async function teardown(): Promise<void> {
  if (home !== undefined) await openPlace(home)[Symbol.asyncDispose]()
}
