/** What a request costs grows with its size and no faster, for every verb, encoding and patch type. `npm run soak` sends larger ones. */
import { describe, expect, it } from 'vitest'
import { sharedServer } from '../support/shared-server.ts'
import { costlyRequests } from './costly-requests.ts'
import { costFaults } from './costs.ts'

/** Where single steps take longest. */
const dearestOfAll = new Set([
  'PUT: keys',
  'PUT: labels',
  'json-patch+json: moves to the front',
  'apply of CBOR: labels',
  'apply of CBOR: finalizers',
  'GET: application/yaml',
  'GET: application/cbor',
])

describe('processor time', () => {
  const server = sharedServer({ flags: ['--feature-gates=CBORServingAndStorage=true'] })

  it('of a request grows with its body, and none keeps all others waiting', async () => {
    const limits = { bytes: 20_000, turnMs: 100, totalMs: 600 }
    expect(await costFaults(server(), costlyRequests, limits)).toEqual([])
  })

  it('of one step is at most 100 ms, with nearly as many values as a body may have', async () => {
    const limits = { bytes: 200_000, turnMs: 100, totalMs: 4000 }
    const dearest = costlyRequests.filter(({ what }) => dearestOfAll.has(what))
    expect(dearest).toHaveLength(dearestOfAll.size)
    expect(await costFaults(server(), dearest, limits)).toEqual([])
  })
})
