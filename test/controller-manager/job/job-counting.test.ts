import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JobSpec, Pod } from '../../../components/api/generated/types.ts'
import { isActive } from '../../../components/controller-manager/pod-state.ts'
import { keyOf } from '../../../components/machinery/objects/object.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { job, startJobs, trackingFinalizer } from '../../support/job-story.ts'
import type { JobStory } from '../../support/job-story.ts'

const held = (story: JobStory): Pod[] =>
  story.pods().filter(({ metadata }) => metadata.finalizers?.includes(trackingFinalizer))

const writes = ['create', 'update', 'patch', 'delete']

/** Refuses all writes from now on; the returned function ends that. */
function refuse(story: JobStory, reason: 'TooManyRequests' | 'InternalError'): () => void {
  return story.cluster.react('*', '*', ({ verb }) => {
    if (writes.includes(verb)) throw new StatusError(reason, 'not now')
    return undefined
  })
}

/** Lets no event of the resource through until the returned function is called. */
function lag(story: JobStory, resource: string): () => void {
  const end = story.cluster.react('watch', resource, () => {
    throw new StatusError('ServiceUnavailable', 'not now')
  })
  story.cluster.endWatches()
  return end
}

async function restarted(story: JobStory): Promise<JobStory> {
  await story.harness.stop()
  return startJobs([], { cluster: story.cluster })
}

describe('a Job whose controller is slow to learn', () => {
  it.each(['pods', 'jobs'])(
    'makes no pod twice while it sees no change of %s',
    async (resource) => {
      const story = await startJobs([job('work', { completions: 4, parallelism: 2 })])
      await story.wait()
      const heal = lag(story, resource)
      for (let round = 1; round <= 5; round += 1) {
        for (const pod of story.active().slice(0, 1)) story.end(pod)
        await story.wait(2000)
        expect(story.active().length).toBeLessThanOrEqual(2)
      }
      heal()
      for (let round = 1; round <= 20; round += 1) {
        await story.wait(10_000)
        for (const pod of story.active()) story.end(pod)
      }
      expect(story.job().status).toMatchObject({ succeeded: 4 })
      expect(story.pods()).toHaveLength(4)
      expect(held(story)).toEqual([])
      await story.harness.stop()
      expect(story.faults).toEqual([])
    },
  )

  it('makes no pod twice while it sees none of those it made', async () => {
    let heal = (): void => {}
    const story = await startJobs([job('work', { completions: 4, parallelism: 2 })], {
      before: ({ cluster }) => {
        heal = cluster.react('watch', 'pods', () => {
          throw new StatusError('ServiceUnavailable', 'not now')
        })
      },
    })
    for (let round = 1; round <= 5; round += 1) {
      story.change(({ spec }) => {
        if (spec) spec.ttlSecondsAfterFinished = round
      })
      await story.wait()
    }
    expect(story.pods()).toHaveLength(2)
    heal()
    await story.harness.stop()
  })

  it.each(['NonIndexed', 'Indexed'])(
    'counts no pod of a Job that is %s twice while it sees its finalizer still',
    async (completionMode) => {
      const spec = { completions: 4, parallelism: 2, completionMode, backoffLimit: 9 }
      const story = await startJobs([job('work', spec)])
      await story.wait()
      const [first, second] = story.active() as [Pod, Pod]
      story.end(first)
      story.end(second, 1)
      await story.wait(500)
      const heal = lag(story, 'pods')
      for (let round = 1; round <= 5; round += 1) {
        await story.wait()
        story.change(({ spec: changed }) => {
          if (changed) changed.ttlSecondsAfterFinished = round
        })
      }
      expect(story.job().status).toMatchObject({ succeeded: 1, failed: 1 })
      heal()
      await story.harness.stop()
    },
  )

  it.each(['TooManyRequests', 'InternalError'] as const)(
    'goes on, without haste, when writes get %s for five minutes',
    async (reason) => {
      const story = await startJobs([job('work', { completions: 6, parallelism: 3 })])
      await story.wait()
      for (const pod of story.active()) story.end(pod)
      const allow = refuse(story, reason)
      const before = story.cluster.writes.length
      await story.wait(300_000)
      expect(story.cluster.writes.length - before).toBeLessThan(100)
      allow()
      await story.wait(70_000)
      for (const pod of story.active()) story.end(pod)
      await story.wait(70_000)
      expect(story.job().status).toMatchObject({ succeeded: 6 })
      expect(story.conditions()).toContain('Complete=True CompletionsReached')
      expect(story.pods()).toHaveLength(6)
      expect(held(story)).toEqual([])
      await story.harness.stop()
    },
  )

  it('survives a lost race for its status', async () => {
    const story = await startJobs([job('work', { completions: 2, parallelism: 2 })])
    await story.wait()
    let races = 0
    story.cluster.react('update', 'jobs/status', () => {
      races += 1
      if (races % 2 === 1)
        story.change(({ metadata }) => (metadata.labels = { race: String(races) }))
      return undefined
    })
    for (const pod of story.active()) story.end(pod)
    await story.wait(60_000)
    expect(story.job().status).toMatchObject({ succeeded: 2 })
    expect(story.conditions()).toContain('Complete=True CompletionsReached')
    await story.harness.stop()
  })
})

describe('a Job whose controller ends in the middle', () => {
  const specs: [string, Partial<JobSpec>, object][] = [
    ['a plain Job', {}, {}],
    ['an Indexed Job', { completionMode: 'Indexed' }, { completedIndexes: '0-2' }],
  ]
  const points = Array.from({ length: 24 }, (_, position) => position)
  it.each(
    specs.flatMap(([name, spec, status]) => points.map((point) => ({ name, spec, status, point }))),
  )(
    '$name counts every pod once after a restart at write $point',
    async ({ spec, status, point }) => {
      let story = await startJobs([job('work', { completions: 3, parallelism: 2, ...spec })])
      let left = point
      const stop = story.cluster.react('*', '*', ({ verb }) => {
        if (!writes.includes(verb)) return undefined
        if (left <= 0) throw new StatusError('InternalError', 'the process is gone')
        left -= 1
        return undefined
      })
      let isFirst = true
      const play = async (): Promise<void> => {
        await story.wait(2000)
        const [pod] = story.active()
        if (pod !== undefined) story.end(pod, isFirst ? 1 : 0)
        if (pod !== undefined) isFirst = false
      }
      for (let round = 0; round < 6; round += 1) await play()
      stop()
      story = await restarted(story)
      for (let round = 0; round < 12; round += 1) {
        await story.wait(12_000)
        await play()
      }
      expect(story.job().status).toMatchObject({ succeeded: 3, failed: 1, ...status })
      expect(story.conditions()).toContain('Complete=True CompletionsReached')
      expect(story.pods()).toHaveLength(4)
      expect(held(story)).toEqual([])
      await story.harness.stop()
      expect(story.faults).toEqual([])
    },
  )
})

type Act =
  | { readonly kind: 'end'; readonly pod: number; readonly code: number }
  | { readonly kind: 'remove'; readonly pod: number }
  | { readonly kind: 'restart' }
  | { readonly kind: 'lag'; readonly resource: 'pods' | 'jobs' }
  | { readonly kind: 'refuse' }
  | { readonly kind: 'heal' }
  | { readonly kind: 'wait'; readonly ms: number }

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('end' as const),
        pod: fc.nat(3),
        code: fc.constantFrom(0, 0, 1),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('wait' as const),
        ms: fc.constantFrom(10, 500, 1100, 5000, 30_000),
      }),
    },
    fc.record({ kind: fc.constant('remove' as const), pod: fc.nat(3) }),
    fc.record({ kind: fc.constant('restart' as const) }),
    fc.record({
      kind: fc.constant('lag' as const),
      resource: fc.constantFrom('pods' as const, 'jobs' as const),
    }),
    fc.record({ kind: fc.constant('refuse' as const) }),
    fc.record({ kind: fc.constant('heal' as const) }),
  ),
  { minLength: 3, maxLength: 25 },
)

/** Plays the acts, and tells how each pod that ever was has ended. */
async function play(spec: Partial<JobSpec>, script: readonly Act[]) {
  let story = await startJobs([job('work', spec)])
  const { cluster } = story
  const ends = new Map<string, 'succeeded' | 'failed'>()
  const crowds: number[] = []
  const names = new Set<string>()
  cluster.react('create', 'pods', () => {
    const live = cluster.all<Pod>(story.harness.resources.pods).filter(isActive).length
    if (live >= (spec.parallelism ?? 1)) crowds.push(live + 1)
    return undefined
  })
  let heals: (() => void)[] = []
  const heal = (): void => {
    for (const one of heals) one()
    heals = []
  }
  const note = (): void => {
    for (const { metadata } of story.pods()) names.add(metadata.uid ?? '')
  }
  const end = (pod: Pod, code: number): void => {
    story.end(pod, code)
    ends.set(pod.metadata.uid ?? '', code === 0 ? 'succeeded' : 'failed')
  }
  for (const act of script) {
    note()
    const active = story.active()
    const pod = 'pod' in act ? active[act.pod % Math.max(1, active.length)] : undefined
    if (act.kind === 'end' && pod) end(pod, act.code)
    else if (act.kind === 'remove' && pod) {
      ends.set(pod.metadata.uid ?? '', 'failed')
      cluster.remove(story.harness.resources.pods, keyOf(pod))
    } else if (act.kind === 'restart') {
      heal()
      story = await restarted(story)
    } else if (act.kind === 'lag') heals.push(lag(story, act.resource))
    else if (act.kind === 'refuse') heals.push(refuse(story, 'InternalError'))
    else if (act.kind === 'heal') heal()
    else if (act.kind === 'wait') await story.wait(act.ms)
  }
  heal()
  for (let round = 0; round < 30; round += 1) {
    await story.wait(61_000)
    note()
    for (const pod of story.active()) end(pod, 0)
  }
  await story.wait(700_000)
  note()
  await story.harness.stop()
  const count = (how: string): number => [...ends.values()].filter((one) => one === how).length
  return { story, crowds, made: names.size, succeeded: count('succeeded'), failed: count('failed') }
}

describe('whatever happens to its pods and its controller', () => {
  it('a Job has counted each pod exactly once in the end, and never ran more than it may', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          completions: fc.integer({ min: 1, max: 5 }),
          parallelism: fc.integer({ min: 1, max: 4 }),
          completionMode: fc.constantFrom('NonIndexed', 'Indexed'),
          backoffLimit: fc.constantFrom(0, 2, 1000),
          script: acts,
        }),
        async ({ script, ...spec }) => {
          const { story, crowds, made, succeeded, failed } = await play(spec, script)
          const { status = {} } = story.job()
          const finished = story.conditions().at(-1)
          expect(crowds).toEqual([])
          expect(held(story)).toEqual([])
          expect(finished).toMatch(
            /^(Complete=True CompletionsReached|Failed=True BackoffLimitExceeded)$/,
          )
          expect((status.succeeded ?? 0) + (status.failed ?? 0)).toBe(made)
          if (finished?.startsWith('Complete')) {
            expect({ succeeded: status.succeeded ?? 0, failed: status.failed ?? 0 }).toEqual({
              succeeded,
              failed,
            })
            expect(status.succeeded).toBe(spec.completions)
          }
          expect(story.faults).toEqual([])
        },
      ),
      { numRuns: 100 },
    )
  })
})
