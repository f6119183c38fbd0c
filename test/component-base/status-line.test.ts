import { expect, test } from 'vitest'
import { isHandedOver } from '../../components/component-base/status-line.ts'

test.each([
  ['a pipe', 0o010600, true],
  ['a pipe of Windows, which has no permissions', 0o010000, true],
  ['a socket', 0o140777, true],
  ['a file', 0o100644, true],
  ['an event loop', 0o600, false],
  ['a terminal', 0o020620, false],
  ['a folder', 0o040755, false],
])('a process that finds %s as descriptor 3 writes to it: mode %o, %s', (_, mode, expected) => {
  expect(isHandedOver(mode)).toBe(expected)
})
