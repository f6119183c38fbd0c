/** Parts that some tests need and a machine may lack, such as a compiler of another language. */
import { test } from 'vitest'

/** `test`, or where `hindrance` says why the tests cannot run, `test.skip`; then standard error says so, too. */
export function requireParts(
  what: string,
  hindrance: () => string | undefined,
): typeof test | typeof test.skip {
  const why = hindrance()
  if (why === undefined) return test
  const message = `NOT TESTED: ${what}: ${why}`
  process.stderr.write(`${message}\n`)
  test.skip(message, () => {})
  return test.skip
}
