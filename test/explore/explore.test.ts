import { expect, it } from 'vitest'
import { systemClock } from '../../components/component-base/clock.ts'
import { explore } from '../../explore/explore.ts'
import type { ExploreReport } from '../../explore/explore.ts'
import { describeFinding } from '../../explore/finding.ts'
import type { PlanKind } from '../../explore/planned-fault.ts'
import { replay } from '../../explore/replay.ts'
import { parseStory } from '../../explore/story.ts'
import { tinyController } from './tiny-controller.ts'
import type { Bugs } from './tiny-controller.ts'

const story = parseStory(
  `
quiet: 200ms
within: 5s
steps:
  - create: { apiVersion: v1, kind: ConfigMap, metadata: { name: app-a }, data: { size: '1' } }
  - patch: { kind: ConfigMap, name: app-a, patch: { data: { size: '2' } } }
`,
  'story.yaml',
)
const signal = new AbortController().signal

async function explored(
  bugs: Bugs,
  kinds: readonly PlanKind[],
  { jobs = 1 }: { jobs?: number } = {},
): Promise<ExploreReport> {
  return await explore({
    story,
    controller: tinyController(bugs),
    kinds,
    mixes: { count: 0, seed: 1 },
    jobs,
    timeMs: Infinity,
    mostPlans: 100,
    stopsAtFirst: false,
    clock: systemClock,
    signal,
  })
}

it('finds nothing in a controller that survives every plan, on two clusters at once', async () => {
  const kinds: PlanKind[] = ['kill', 'lost-answer', 'repeat', 'relist', 'unseen']
  const { results, unfit } = await explored({}, kinds, { jobs: 2 })
  expect(unfit).toEqual([])
  expect(new Set(results.map(({ plan }) => plan.kind))).toEqual(new Set(kinds))
  const found = results.filter(({ outcome }) => outcome === 'found')
  expect(found.flatMap(({ findings }) => findings.map(describeFinding))).toEqual([])
})

it('finds the object that a killed controller makes twice, and finds it again from the plan', async () => {
  const { results } = await explored({ makesTwice: true }, ['kill'])
  const found = results.filter(({ outcome }) => outcome === 'found')
  const twice = 'after step 1: Secret default/app-a-* was made twice'
  expect(found.flatMap(({ findings }) => findings.map(describeFinding))).toEqual([twice])
  const [{ plan } = { plan: undefined }] = found
  expect(plan?.faults).toEqual([
    {
      kind: 'kill-after',
      at: { verb: 'create', resource: 'secrets', namespace: 'default', name: 'app-a-*', nth: 1 },
    },
  ])
  if (plan === undefined) return
  const again = { plan, story, values: undefined, clock: systemClock, signal }
  const replayed = await replay({ ...again, controller: tinyController({ makesTwice: true }) })
  expect(replayed.lines.at(-1)).toBe(twice)
  const mended = await replay({ ...again, controller: tinyController() })
  expect(mended.lines.at(-1)).toBe('nothing was found')
})

it('finds what counts on seeing each event once', async () => {
  const { results } = await explored({ makesTwice: true }, ['repeat'])
  const [first] = results.filter(({ outcome }) => outcome === 'found')
  expect(first?.plan.faults).toEqual([{ kind: 'repeat-events', resource: 'configmaps' }])
  const twice = 'after step 1: Secret default/app-a-* was made twice'
  expect(first?.findings.map(describeFinding)).toEqual([twice])
})

it('says that a controller never comes to rest', async () => {
  const { unfit, results } = await explored({ writesForEver: true }, ['kill'])
  expect(unfit.map(describeFinding)).toEqual([
    expect.stringMatching(/^after step \d: the controller never comes to rest: \d+ writes in 5 s$/),
  ])
  expect(results).toEqual([])
})
