/** What every refusal must be: a Status that names the fault, never an error of the server. */
import { expect } from 'vitest'
import type { Reply } from './api-server.ts'

/** Asserts that the answer is a failure Status of the client's making, with this code if one is given. */
export function expectFault(reply: Reply, what: string, code?: number): void {
  expect(reply.status, `${what}: ${reply.text.slice(0, 300)}`).toBeGreaterThanOrEqual(400)
  expect(reply.status, `${what}: ${reply.text.slice(0, 300)}`).toBeLessThan(500)
  if (code !== undefined) expect(reply.status, `${what}: ${reply.text.slice(0, 300)}`).toBe(code)
  expect(reply.body, what).toMatchObject({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: expect.stringMatching(/\S/),
    reason: expect.stringMatching(/^[A-Z]\w+$/),
    code: reply.status,
  })
}
