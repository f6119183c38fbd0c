/** Costly requests of growing sizes: what they cost grows with them, and no turn of the event loop is long. */
import { appliesOfYaml, costlyRequests } from '../../test/fuzz/costly-requests.ts'
import { costFaults } from '../../test/fuzz/costs.ts'
import { startApiServer } from '../../test/support/api-server.ts'
import type { Part } from './part.ts'

/** Of the smaller body; the larger one has four times as much. */
const sizes = [12_000, 50_000, 100_000, 700_000]

export const costSoak: Part = {
  name: 'costs',
  unit: 'costly requests',
  sliceMs: 300_000,
  run: async ({ seed }) => {
    await using server = await startApiServer({
      flags: ['--feature-gates=CBORServingAndStorage=true'],
    })
    const bytes = sizes[seed % sizes.length] ?? 50_000
    const requests = [...costlyRequests, ...appliesOfYaml]
    const faults = await costFaults(server, requests, { bytes, turnMs: 100, totalMs: 4000 })
    if (faults.length > 0) throw new Error(faults.join('\n'))
    return { runs: requests.length, note: `of ${bytes} and ${bytes * 4} bytes` }
  },
}
