/** What a load leaves: a real process, with wide margins; what is kept is counted to the byte in watch-cache.test.ts. */
import { describe, expect, it } from 'vitest'
import { startChildApiServer } from '../../support/child-api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { comeAndGo, replaceLargeObjects } from '../../support/memory-loads.ts'

/** Wide: some 70 MB of it are history that is kept on purpose. */
const mostMb = 150
const withinMs = 60_000
/** The loads themselves take minutes on a busy machine. */
const timeout = 600_000

describe('an API server after a load', { timeout }, () => {
  it('of large objects that were replaced gives their memory back within a minute, and its file stays small', async () => {
    await using server = await startChildApiServer()
    const before = server.residentMb()
    await replaceLargeObjects(server, 120)
    const bound = before + mostMb
    await eventually(() => expect(server.residentMb()).toBeLessThan(bound), withinMs)
    expect(server.storedMb()).toBeLessThan(mostMb)
    await replaceLargeObjects(server, 40)
    expect(server.storedMb()).toBeLessThan(mostMb)
    expect(server.errors).toBe('')
  })

  it('of objects that came and went is about as small as before within a minute', async () => {
    await using server = await startChildApiServer()
    const before = server.residentMb()
    await comeAndGo(server, 3000)
    const bound = before + mostMb
    await eventually(() => expect(server.residentMb()).toBeLessThan(bound), withinMs)
    expect(server.errors).toBe('')
  })
})
