import { expect, test } from 'vitest'
import { refuseTooLarge } from '../../../components/api-server/registry/stored-objects.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'

test('an object takes 3 MiB in the store at most', () => {
  const most = 3 * 1024 * 1024
  refuseTooLarge(Buffer.alloc(most))
  const error = new StatusError(
    'RequestEntityTooLarge',
    `Request entity too large: limit is ${most}`,
  )
  expect(() => refuseTooLarge(Buffer.alloc(most + 1))).toThrow(error)
  expect(error.code).toBe(413)
})
