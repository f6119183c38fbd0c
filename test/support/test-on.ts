/** Tests that need a facility of a system: elsewhere they are skipped, and standard error says so. */
import { spawnSync } from 'node:child_process'
import { test } from 'vitest'

type Test = typeof test | typeof test.skip

/** `test`; `test.skip` where `isThere` is false, and a line on standard error and in the report that says what is not tested. */
export function testIf(isThere: boolean, what: string, needs: string): Test {
  if (isThere) return test
  const message = `NOT TESTED: ${what}: it needs ${needs}`
  process.stderr.write(`${message}\n`)
  test.skip(message, () => {})
  return test.skip
}

const names = { linux: 'Linux', unix: 'a Unix' } as const

/** Of tests that need Linux, or any Unix. */
export function testOn(system: 'linux' | 'unix', what: string): Test {
  const isThere = system === 'linux' ? process.platform === 'linux' : process.platform !== 'win32'
  return testIf(isThere, what, names[system])
}

/** Whether `unshare` may make a namespace of mounts here. */
export function canUnshareMounts(): boolean {
  return spawnSync('unshare', ['--mount', 'true'], { stdio: 'ignore' }).status === 0
}
