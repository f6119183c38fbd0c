/** Simulations: a whole cluster whose history follows from a seed, and what they find. */
import { describe, expect, it } from 'vitest'
import { simulate, SimulationError } from '../../library/index.ts'
import type { SimulationContext, SimulationOptions } from '../../library/index.ts'
import { deploymentStory } from './deployment-story.ts'

/** For each ConfigMap `app-*` a Secret with a generated name. */
function secretKeeper({ isForgetful }: { readonly isForgetful: boolean }) {
  return async ({ client, sleep, signal }: SimulationContext): Promise<void> => {
    const made = new Set<string>()
    while (!signal.aborted) {
      try {
        for (const { metadata } of await client.list({ kind: 'ConfigMap', labelSelector: 'app' })) {
          const name = metadata?.name ?? ''
          if (made.has(name)) continue
          const labelSelector = `for=${name}`
          // Whoever had no answer does not know whether the Secret was made.
          const before = isForgetful ? [] : await client.list({ kind: 'Secret', labelSelector })
          const secret = { kind: 'Secret', metadata: { generateName: 'a-', labels: { for: name } } }
          if (before.length === 0) await client.create(secret)
          made.add(name)
        }
      } catch {
        // It tries again.
      }
      await sleep('1s').catch(() => {})
    }
  }
}

const appStory: SimulationOptions['story'] = async ({ client, sleep, eventually }) => {
  for (const number of [1, 2, 3, 4]) {
    const metadata = { name: `app-${number}`, labels: { app: '' } }
    await eventually(
      async () => await client.apply({ kind: 'ConfigMap', apiVersion: 'v1', metadata }),
    )
    await sleep('20s')
  }
}

const oneSecretEach: SimulationOptions['check'] = async ({ client }) => {
  const secrets = await client.list({ kind: 'Secret', labelSelector: 'for' })
  if (secrets.length !== 4) throw new Error(`${secrets.length} Secrets for 4 ConfigMaps`)
}

const lostAnswers = {
  every: '10s',
  faults: [
    {
      fault: { kind: 'requests', fault: { match: { verbs: ['write'] }, action: { cut: 'after' } } },
    },
    { fault: { kind: 'node', fault: { node: '*', is: 'memory-pressure' } } },
  ],
} as const satisfies SimulationOptions['mix']

async function failureOf(options: SimulationOptions): Promise<SimulationError> {
  const error: unknown = await simulate(options).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(SimulationError)
  return error as SimulationError
}

describe('a simulation', { timeout: 1_200_000 }, () => {
  const options = {
    story: appStory,
    check: oneSecretEach,
    mix: lostAnswers,
    for: '2m',
    stops: 0,
  } as const

  it('gives the same history for the same seed, under faults, and another one for another', async () => {
    const told = { ...deploymentStory, for: '3m' } as const
    const [first] = await simulate({ ...told, seed: 7 })
    const [again] = await simulate({ ...told, seed: 7 })
    const [other] = await simulate({ ...told, seed: 8 })
    expect(first?.faults).not.toEqual([])
    expect(first?.commits).toBeGreaterThan(100)
    expect(again).toEqual(first)
    expect(other?.hash).not.toBe(first?.hash)
  })

  it('finds nothing in the control plane, whose monitors are all on', async () => {
    const runs = await simulate({ ...deploymentStory, for: '1m', seeds: 40 })
    expect(runs).toHaveLength(40)
    expect(new Set(runs.map(({ hash }) => hash)).size).toBe(40)
  })

  it('finds what a lost answer does to a forgetful controller, and needs one fault for it', async () => {
    const controllers = [secretKeeper({ isForgetful: true })]
    const error = await failureOf({ ...options, controllers })
    expect(error.kind).toBe('check')
    expect(error.message).toMatch(/^seed \d+: check: \d+ Secrets for 4 ConfigMaps\n/)
    expect(error.message).toContain(`Again: SIMULATION_SEED=${error.run.seed}`)
    expect(error.run.faults).toEqual([expect.stringContaining('cut after')])
    const again = await failureOf({ ...options, controllers, seed: error.run.seed })
    expect(again.message).toBe(error.message)
  })

  it('finds nothing in a controller that looks before it writes', async () => {
    const runs = await simulate({ ...options, controllers: [secretKeeper({ isForgetful: false })] })
    expect(runs).toHaveLength(20)
  })

  it('judges by an expression, and rejects one that is no CEL', async () => {
    const kind = 'configmaps'
    const judged = async (expression: string): Promise<unknown> =>
      await simulate({
        story: appStory,
        monitors: [{ name: 'labelled', kind, expression }],
        for: 0,
        seed: 1,
      }).catch((reason: unknown) => reason)
    expect(await judged('!has(object.metadata.labels.app)')).toMatchObject({ kind: 'labelled' })
    const message: unknown = expect.stringContaining('the expression for configmaps is invalid')
    expect(await judged('object.')).toMatchObject({ message })
  })

  it('ends when its story waits for something that never comes, and when it is interrupted', async () => {
    const endless = await failureOf({
      story: async ({ eventually }) => await eventually(() => Promise.reject(new Error('no'))),
      for: 0,
      seed: 1,
    })
    expect(endless.message).toMatch(/^seed 1: endless: the story has not ended within an hour/)
    const interrupt = new AbortController()
    const story = async (): Promise<void> => interrupt.abort(new Error('enough'))
    await expect(simulate({ story, for: 0, signal: interrupt.signal })).rejects.toThrow('enough')
  })

  it.each([
    [{}, 'simulate: story is missing: it must be a function'],
    [{ story: appStory, nodes: 0 }, 'simulate: nodes must be a whole number from 1 to 20'],
    [{ story: appStory, monitors: ['orphan'] }, 'simulate: monitors[0] must be one of identity'],
    [{ story: appStory, sed: 1 }, 'seed'],
  ])('is not begun with invalid options: %j', async (given, message) => {
    await expect(simulate(given as unknown as SimulationOptions)).rejects.toThrow(message)
  })
})
