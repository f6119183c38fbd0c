/** One API server for all tests of a describe block, in one dialect or in both. */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { startApiServer, type ApiServerSetup, type TestApiServer } from './api-server.ts'

/** The server of the running test: filled in before the block's first test. */
export type SharedServer = () => TestApiServer

/** Starts a server before the block's tests and disposes of it after them; fails the block when the server logged a bug. */
export function sharedServer(setup: ApiServerSetup = {}): SharedServer {
  let server: TestApiServer | undefined
  beforeAll(async () => {
    server = await startApiServer(setup)
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    expect(server?.faults).toEqual([])
  })
  return () => {
    if (server === undefined) throw new Error('the server starts in beforeAll')
    return server
  }
}

/** The same tests in both dialects, each against a server of its own. */
export function describeDialects(
  name: string,
  tests: (server: SharedServer) => void,
  setup: Omit<ApiServerSetup, 'dialect'> = {},
): void {
  describe.each(['kubernetes', 'svc'] as const)(`${name}, dialect %s`, (dialect) => {
    tests(sharedServer({ ...setup, dialect }))
  })
}
