/**
 * `npm run soak`: the models and the fuzzer for as long as one likes, against servers in this process and real ones that
 * are killed, workloads on whole clusters, etcd in networks that part, and simulations. SOAK_MINUTES (10), SOAK_SEED (random; printed), SOAK_ONLY (names of parts, separated by commas).
 * Exits with 1 at the first failure, which says how to run it again.
 */
import { costSoak } from './soak/costs.ts'
import { fuzzSoak } from './soak/fuzz.ts'
import { informerSoak } from './soak/informers.ts'
import { memorySoak } from './soak/memory.ts'
import { objectSoak } from './soak/objects.ts'
import { childStories, memoryStories, storeStories } from './soak/stories.ts'
import type { Part } from './soak/part.ts'
import { partitionSoak } from './soak/partitions.ts'
import { simulationSoak } from './soak/simulations.ts'
import { steadySoak } from './soak/steady.ts'
import { workloadSoak } from './soak/workloads.ts'

const minutes = Number(process.env['SOAK_MINUTES'] ?? '10')
const seed = Number(process.env['SOAK_SEED'] ?? Date.now() % 1_000_000)
const only = process.env['SOAK_ONLY']?.split(',')
const all: readonly Part[] = [
  memoryStories,
  storeStories,
  childStories,
  fuzzSoak,
  costSoak,
  informerSoak,
  memorySoak,
  workloadSoak,
  partitionSoak,
  simulationSoak,
  objectSoak,
  steadySoak,
]
const parts = all.filter(({ name }) => only?.includes(name) ?? true)

async function main(): Promise<void> {
  if (parts.length === 0)
    throw new Error(`no part of that name; there are ${all.map(({ name }) => name).join(', ')}`)
  console.log(
    `soak for ${minutes} minutes, SOAK_SEED=${seed}, of ${parts.map(({ name }) => name).join(', ')}`,
  )
  const end = Date.now() + minutes * 60_000
  const totals = new Map<string, { runs: number; seconds: number; note: string }>()
  for (let round = 0; round === 0 || Date.now() < end; round += 1) {
    for (const part of parts) {
      const startedAt = Date.now()
      const until = Math.min(startedAt + part.sliceMs, Math.max(end, startedAt + 5000))
      const { runs, note } = await part.run({ seed: seed + round, until })
      const seconds = (Date.now() - startedAt) / 1000
      const total = totals.get(part.name) ?? { runs: 0, seconds: 0, note: '' }
      totals.set(part.name, { runs: total.runs + runs, seconds: total.seconds + seconds, note })
      console.log(
        `round ${round + 1}, ${part.name}: ${runs} ${part.unit} in ${seconds.toFixed(0)} s${note === '' ? '' : `, ${note}`}`,
      )
      if (Date.now() >= end && round > 0) break
    }
  }
  console.log('\nno fault found in')
  for (const { name, unit } of parts) {
    const { runs, seconds, note } = totals.get(name) ?? { runs: 0, seconds: 0, note: '' }
    console.log(
      `  ${name}: ${runs} ${unit} in ${seconds.toFixed(0)} s${note === '' ? '' : `, ${note}`}`,
    )
  }
}

try {
  await main()
} catch (error) {
  console.error(error)
  console.error(`\nthe soak failed; SOAK_SEED=${seed}`)
  process.exitCode = 1
}
