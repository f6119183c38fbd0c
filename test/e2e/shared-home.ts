/** A folder for what the processes of one run of tests share. It goes after the last test, and with it every cluster in it. */
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setInterval } from 'node:timers'
import type { TestProject } from 'vitest/node'
import { outcomeOf } from './built.ts'
import { openPlace } from './place.ts'
import type { Place } from './place.ts'

declare module 'vitest' {
  interface ProvidedContext {
    sharedHome: string
    /** The process that runs all tests. */
    runnerPid: number
  }
}

let place: Place | undefined
let looking: NodeJS.Timeout | undefined

/**
 * Called by vitest before and after all test files. Nothing is made here: the first test that asks for a cluster makes the folder and
 * starts it. From then on this process judges the cluster, since it outlives every test file.
 */
export function setup(project: TestProject): void {
  const home = join(tmpdir(), 'shared')
  project.provide('sharedHome', home)
  project.provide('runnerPid', process.pid)
  const opened = openPlace(home)
  place = opened
  looking = setInterval(() => {
    if (!existsSync(outcomeOf(home, 'up'))) return
    clearInterval(looking)
    opened.judge('shared')
  }, 200).unref()
}

export async function teardown(): Promise<void> {
  clearInterval(looking)
  await place?.[Symbol.asyncDispose]()
}
