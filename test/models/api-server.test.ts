/** Random stories of several clients against the API server, checked against a model of it that is as plain as can be. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../support/api-server.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { stories } from './api-server/steps.ts'
import { runStory } from './api-server/story.ts'
import type { Subject } from './api-server/subject.ts'
import { parametersOf } from './replay.ts'

describe('whatever several clients do at once', () => {
  const clock = new FakeClock(Date.now())
  let server: TestApiServer
  beforeAll(async () => {
    server = await startApiServer({ clock })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })

  it('every answer and every event fits one order of the commits', async () => {
    let serial = 0
    const subject: Subject = {
      request: server.request,
      watch: server.watch,
      nowMs: () => clock.now(),
      pass: (ms) => clock.step(ms),
    }
    const property = fc.asyncProperty(
      stories({ kills: false, time: true, rounds: 14 }),
      async (rounds) => {
        serial += 1
        // HTTP/2 servers end a connection on which too many streams were cancelled, as watches are.
        if (serial % 100 === 0) server.close()
        await runStory(subject, rounds, `story-${serial}`)
      },
    )
    await fc.assert(property, parametersOf(150))
  }, 300_000)
})

describe('whatever several clients do while the server is stopped and started', () => {
  let server: TestApiServer
  beforeAll(async () => {
    server = await startApiServer({ store: 'sqlite' })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })

  it('nothing acknowledged is lost, and every answer fits one order of the commits', async () => {
    let serial = 0
    const subject: Subject = {
      request: server.request,
      watch: server.watch,
      nowMs: () => Date.now(),
      kill: () => server.restart(),
    }
    const property = fc.asyncProperty(
      stories({ kills: true, time: false, rounds: 10 }),
      async (rounds) => {
        serial += 1
        // HTTP/2 servers end a connection on which too many streams were cancelled, as watches are.
        if (serial % 100 === 0) server.close()
        await runStory(subject, rounds, `story-${serial}`)
      },
    )
    await fc.assert(property, parametersOf(25))
  }, 300_000)
})
