/** What a request costs grows with its size and no faster, for every verb, encoding and patch type. `npm run soak` sends larger ones. */
import { describe, expect, it } from 'vitest'
import { sharedServer } from '../support/shared-server.ts'
import { costlyRequests } from './costly-requests.ts'
import { costFaults } from './costs.ts'

describe('processor time', () => {
  const server = sharedServer({ flags: ['--feature-gates=CBORServingAndStorage=true'] })

  it('of a request grows with its body, and none keeps all others waiting', async () => {
    const limits = { bytes: 20_000, turnMs: 100, totalMs: 600 }
    expect(await costFaults(server(), costlyRequests, limits)).toEqual([])
  })
})
