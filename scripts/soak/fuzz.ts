/** Random requests against a real process: no error of the server, and no growth of its memory. */
import { describeFinding, fuzz } from '../../test/fuzz/fuzz.ts'
import { startChildApiServer } from '../../test/support/child-api-server.ts'
import { MemoryGrowth } from './memory-growth.ts'
import type { Part } from './part.ts'

const batch = 2000

export const fuzzSoak: Part = {
  name: 'fuzz',
  unit: 'random requests',
  sliceMs: 120_000,
  run: async ({ seed, until }) => {
    const dialect = seed % 2 === 0 ? 'kubernetes' : 'svc'
    const cbor = seed % 4 < 2
    const flags = [`--feature-gates=CBORServingAndStorage=${cbor}`]
    await using server = await startChildApiServer({ dialect, flags })
    const growth = new MemoryGrowth('resident', { warmUps: 5, mostMb: 150 })
    let runs = 0
    do {
      const findings = await fuzz(server, { seed, from: runs, to: runs + batch, most: 5 })
      if (findings.length > 0) throw new Error(findings.map(describeFinding).join('\n\n'))
      runs += batch
      growth.read(server.residentMb())
    } while (Date.now() < until)
    if (server.errors !== '') throw new Error(server.errors)
    return { runs, note: `${dialect}${cbor ? ' with CBOR' : ''}, ${growth.note}` }
  },
}
