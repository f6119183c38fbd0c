/** Simulations of StatefulSets and Jobs, under all faults and under one that only time ends. */
import { expect, it } from 'vitest'
import { simulate } from '../../library/index.ts'
import { workloadsStory } from './workloads-story.ts'

it(
  'StatefulSets and Jobs come to their end whatever happens, and no monitor objects',
  { timeout: 1_200_000 },
  async () => {
    expect(await simulate({ ...workloadsStory, for: '1m', seeds: 30 })).toHaveLength(30)
  },
)

it(
  'they do so as well when every update is a lost race for a minute',
  { timeout: 600_000 },
  async () => {
    const lostRaces = {
      fault: {
        kind: 'requests',
        fault: { match: { verbs: ['update', 'patch'] }, action: { status: { code: 409 } } },
      },
      for: ['20s', '60s'],
    } as const
    const mix = { every: '20s', faults: [lostRaces] } as const
    const runs = await simulate({ ...workloadsStory, mix, for: '2m', seeds: 3 })
    expect(runs.map(({ faults }) => faults.length > 0)).toEqual([true, true, true])
  },
)
