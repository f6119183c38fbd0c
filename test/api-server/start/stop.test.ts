import { expect, it } from 'vitest'
import { startApiServer } from '../../support/api-server.ts'

it.each(['memory', 'sqlite'] as const)(
  'a server on %s that is told to stop while it still writes its own objects stops',
  async (store) => {
    for (let round = 0; round < 3; round += 1) {
      await using server = await startApiServer({ store })
      await server.terminate()
      expect(server.faults).toEqual([])
    }
  },
  10_000,
)
