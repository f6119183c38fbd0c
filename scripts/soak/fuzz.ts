/** Random requests against a real process: no error of the server, and no growth of the memory it keeps once idle. */
import { describeFinding, fuzz } from '../../test/fuzz/fuzz.ts'
import { startChildApiServer } from '../../test/support/child-api-server.ts'
import { MemoryGrowth } from './memory-growth.ts'
import type { Part } from './part.ts'

const batch = 2000
/** What a busy server has not yet collected says nothing: it is left alone before each reading. */
const batchesPerReading = 5
/** Between two idle collections it may grow by 16 MB, and encodings by 32 MB; the rest is for fragments of the allocator. */
const mostMb = 60

export const fuzzSoak: Part = {
  name: 'fuzz',
  unit: 'random requests',
  sliceMs: 300_000,
  run: async ({ seed, until }) => {
    const dialect = seed % 2 === 0 ? 'kubernetes' : 'svc'
    const cbor = seed % 4 < 2
    const flags = [`--feature-gates=CBORServingAndStorage=${cbor}`]
    await using server = await startChildApiServer({ dialect, flags })
    const growth = new MemoryGrowth('resident once idle', { warmUps: 1, mostMb })
    let runs = 0
    do {
      const findings = await fuzz(server, { seed, from: runs, to: runs + batch, most: 5 })
      if (findings.length > 0) throw new Error(findings.map(describeFinding).join('\n\n'))
      runs += batch
      if (runs % (batch * batchesPerReading) === 0) {
        await growth.readIdle(server.residentMb)
      }
    } while (Date.now() < until)
    if (server.errors !== '') throw new Error(server.errors)
    return { runs, note: `${dialect}${cbor ? ' with CBOR' : ''}, ${growth.note}` }
  },
}
