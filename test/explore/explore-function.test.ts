/** `kube-skiff/explore`: explorations of a controller that is a function of the test. */
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ConfigMap } from '../../components/api/generated/types.ts'
import { ExplorationError, explore } from '../../explore/index.ts'
import type { ControllerContext, ExploreOptions } from '../../explore/index.ts'
import { OptionError } from '../../library/option-error.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const story = {
  quiet: '100ms',
  within: '5s',
  steps: [
    { create: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'app' } } },
    { patch: { kind: 'ConfigMap', name: 'app', patch: { data: { size: '2' } } } },
  ],
}

/** For each ConfigMap `app` a Secret with a generated name. Whoever does not look first makes another when it is killed. */
function keeper({ looksFirst }: { readonly looksFirst: boolean }) {
  return async ({ client, signal }: ControllerContext): Promise<void> => {
    while (!signal.aborted) {
      const made = new Set<string>()
      try {
        for await (const { type, object } of client.watch({ kind: 'ConfigMap' }, { signal })) {
          const name = object.metadata?.name ?? ''
          if (type === 'DELETED' || name !== 'app' || made.has(name)) continue
          made.add(name)
          const before = looksFirst
            ? await client.list({ kind: 'Secret', labelSelector: 'for' })
            : []
          const metadata = { generateName: `${name}-`, labels: { for: name } }
          if (before.length === 0)
            await client.create({ apiVersion: 'v1', kind: 'Secret', metadata })
        }
      } catch {
        // It begins again.
      }
      await sleep(20)
    }
  }
}

async function failureOf(options: ExploreOptions): Promise<ExplorationError> {
  const error: unknown = await explore(options).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ExplorationError)
  return error as ExplorationError
}

/** Marks the ConfigMaps `one` and `two` as done. A conflict is tried again at once; after so many it does nothing more until it starts again. */
function marker({ mostConflicts }: { readonly mostConflicts: number }) {
  return async ({ client, signal }: ControllerContext): Promise<void> => {
    let conflicts = 0
    const mark = async (name: string): Promise<void> => {
      while (conflicts < mostConflicts) {
        const found = await client.get<ConfigMap>({ kind: 'ConfigMap', name })
        if (found.data?.['done'] !== undefined) return
        const isMarked = await client.replace({ ...found, data: { done: 'yes' } }).then(
          () => true,
          () => false,
        )
        if (isMarked) return
        conflicts += 1
      }
    }
    while (!signal.aborted) {
      try {
        for await (const { object } of client.watch({ kind: 'ConfigMap' }, { signal })) {
          const name = object.metadata?.name ?? ''
          if (name === 'one' || name === 'two') await mark(name)
        }
      } catch {
        // It begins again.
      }
      await sleep(20)
    }
  }
}

describe('an exploration in code', () => {
  const plans = ['kill', 'lost-answer'] as const

  it('finds what a kill does to a function, writes the plan, and finds it again from there, until it is mended', async () => {
    const findings = temporaryFolder('explore-function')
    const controller = keeper({ looksFirst: false })
    const seen: string[] = []
    const onPlan = ({ title, outcome }: { title: string; outcome: string }): void =>
      void seen.push(`${outcome} ${title}`)
    const error = await failureOf({ controller, story, plans: ['kill'], findings, onPlan })
    const [found, ...more] = error.found
    expect(more).toEqual([])
    expect(found?.findings).toEqual(['after step 1: Secret default/app-* was made twice'])
    expect(seen).toContain(`found ${found?.title}`)
    expect(error.message).toContain(`Again: EXPLORE_PLAN=${found?.file}`)
    expect(readFileSync(join(findings, 'story.yaml'), 'utf8')).toContain('name: app')
    const plan = found?.file ?? ''
    expect(existsSync(plan)).toBe(true)
    const again = await failureOf({ controller, plan })
    expect(again.found[0]?.findings).toEqual(found?.findings)
    expect(again.message).toContain('was made twice')
    const mended = await explore({ controller: keeper({ looksFirst: true }), plan })
    expect(mended.map(({ outcome }) => outcome)).toEqual(['passed'])
  })

  it('finds nothing in a function that looks before it writes', async () => {
    const told = await explore({ controller: keeper({ looksFirst: true }), story, plans })
    expect(new Set(told.map(({ kind }) => kind))).toEqual(new Set(plans))
    expect(told.every(({ findings }) => findings.length === 0)).toBe(true)
  })

  it('tells no step before a slow controller has asked for what it asked for in the reference', async () => {
    // It takes another way when it finds the object at its beginning, which comes after more than a quarter of the quiet.
    const slow = async ({ client, signal }: ControllerContext): Promise<void> => {
      await client.list({ kind: 'Secret' }).catch(() => [])
      await sleep(350, undefined, { signal }).catch(() => {})
      const there = await client.list({ kind: 'ConfigMap' }).catch(() => [])
      if (there.some(({ metadata }) => metadata?.name === 'app'))
        await client.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late' } })
      await once(signal, 'abort')
    }
    const patient = { ...story, quiet: '1s', steps: story.steps.slice(0, 1) }
    const told = await explore({ controller: slow, story: patient, plans: ['refuse'] })
    expect(told.map(({ outcome }) => outcome)).toEqual(['passed', 'passed'])
  })

  it('finds by a mix of faults what none of them finds alone, once, and replays its plan', async () => {
    const findings = temporaryFolder('explore-mixes')
    const steps = ['one', 'two'].map((name) => ({
      create: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
    }))
    const options = { story: { ...story, steps }, plans: ['refuse'], mixes: 8, findings } as const
    const patient = marker({ mostConflicts: 100 })
    const well = await explore({ ...options, controller: patient })
    expect(well.filter(({ kind }) => kind === 'mix').length).toBeGreaterThan(3)
    expect(new Set(well.map(({ outcome }) => outcome))).toEqual(new Set(['passed']))
    const seen: string[] = []
    const onPlan = ({ kind, outcome }: { kind: string; outcome: string }): void =>
      void seen.push(`${kind} ${outcome}`)
    const controller = marker({ mostConflicts: 2 })
    const error = await failureOf({ ...options, controller, onPlan })
    expect(seen).not.toContain('refuse found')
    expect(error.found.map(({ title }) => title)).toEqual([
      'refused with 409: update configmaps default/one; refused with 409: update configmaps default/two',
    ])
    const plan = error.found[0]?.file ?? ''
    const again = await failureOf({ controller, plan })
    expect(again.found[0]?.findings).toEqual(error.found[0]?.findings)
    const mended = await explore({ controller: patient, plan })
    expect(mended.map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual(['mix passed'])
  })

  it('says what keeps a controller from being explored: it ends, fails, or goes on when it is killed', async () => {
    const ends = await failureOf({ story, controller: async () => {} })
    expect(ends.message).toContain('the controller ended, again and again')
    expect(ends.found).toEqual([])
    const fails = await failureOf({
      story,
      controller: async () => Promise.reject(new Error('no')),
    })
    expect(fails.message).toContain('the controller failed: no, again and again')
    const goesOn = async ({ client }: ControllerContext): Promise<void> => {
      await client.list({ kind: 'Secret' })
      await new Promise(() => {})
    }
    const stuck = await failureOf({ story, controller: goesOn, plans: ['stale'] })
    expect(stuck.message).toContain('it must end when its signal aborts')
  })

  it.each([
    [{}, 'explore: controller is missing: it must be a function'],
    [{ controller: async () => {} }, 'explore: story is missing'],
    [
      { controller: async () => {}, story: 1 },
      'explore: story must be the path of a story, or a story',
    ],
    [
      { controller: async () => {}, story, plans: ['kil'] },
      'explore: plans[0] must be one of kill',
    ],
    [{ controller: async () => {}, story, mixes: -1 }, 'explore: mixes must be'],
    [
      { controller: async () => {}, story, values: 'caches.example.com', mixes: 1 },
      'explore: mixes are of faults, and values have none: leave one out',
    ],
  ])('rejects options that are invalid: %j', async (options, message) => {
    const failing = explore(options as unknown as ExploreOptions)
    await expect(failing).rejects.toThrow(message)
    await expect(failing).rejects.toBeInstanceOf(OptionError)
  })

  it('rejects a story whose steps do more than send requests', async () => {
    const wrong = { steps: [{ stop: { node: 'node-1' } }] }
    await expect(explore({ controller: async () => {}, story: wrong })).rejects.toThrow(
      'story is not a story that can be told',
    )
  })
})
