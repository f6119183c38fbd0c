/** writers: runs many writers while nested steps run, then checks that no acknowledged write is lost. */
import { ConnectionError } from '../../../components/client/connection-error.ts'
import type { ResourceClient } from '../../../components/client/resource-client.ts'
import { isStatusError, StatusError } from '../../../components/machinery/objects/status-error.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { count as countShape, described, object, optional, string } from '../../../cluster/shape.ts'
import type { Shape } from '../../../cluster/shape.ts'
import { AssertionFailure } from '../assertion-failure.ts'
import { defineStep } from '../step.ts'
import type { ScenarioStep, StepContext, StepKind } from '../step.ts'

/** The acknowledged writes of one writer. */
interface Ledger {
  /** Names of the created objects. */
  readonly created: string[]
  /** The last acknowledged value of the writer's counter object. */
  counter: number
}

const retryMs = 20

/** Retries a write until the server acknowledges it. A try whose response was lost counts when a retry finds it done. */
async function untilAcknowledged(
  write: () => Promise<unknown>,
  { clock, signal }: Pick<StepContext, 'clock' | 'signal'>,
): Promise<void> {
  for (;;) {
    try {
      await write()
      return
    } catch (error) {
      if (isStatusError(error, 'AlreadyExists')) return
      const isPassing =
        (error instanceof ConnectionError && error.code !== 'untrusted') ||
        (error instanceof StatusError && (error.code >= 500 || error.code === 429))
      if (!isPassing) throw error
    }
    await clock.sleep(retryMs, signal)
  }
}

async function write(
  configMaps: ResourceClient,
  options: { prefix: string; namespace: string; stop: AbortSignal; context: StepContext },
): Promise<Ledger> {
  const { prefix, namespace, stop, context } = options
  const ledger: Ledger = { created: [], counter: 0 }
  const signal = context.signal
  const counter = `${prefix}-counter`
  const put = (name: string, value: string): KubeObject => ({
    metadata: { name, namespace },
    data: { value },
  })
  await untilAcknowledged(() => configMaps.create(put(counter, '0'), { signal }), context)
  for (let number = 1; !stop.aborted; number += 1) {
    const name = `${prefix}-${number}`
    await untilAcknowledged(() => configMaps.create(put(name, String(number)), { signal }), context)
    ledger.created.push(name)
    const patch = { data: { value: String(number) } }
    await untilAcknowledged(
      () => configMaps.patch({ namespace, name: counter }, patch, { type: 'merge', signal }),
      context,
    )
    ledger.counter = number
  }
  return ledger
}

function lostWrites(
  ledgers: readonly Ledger[],
  found: ReadonlyMap<string, KubeObject>,
  prefixOf: (index: number) => string,
): string[] {
  return ledgers.flatMap((ledger, index) => {
    const lost = ledger.created.filter((name) => !found.has(name)).map((name) => `${name} is gone`)
    const counter = found.get(`${prefixOf(index)}-counter`)
    const value = Number((counter?.['data'] as { value?: string } | undefined)?.value)
    if (!(value >= ledger.counter)) {
      lost.push(`${prefixOf(index)}-counter is ${value}, acknowledged was ${ledger.counter}`)
    }
    return lost
  })
}

export function createWriters(steps: Shape<ScenarioStep[]>): StepKind {
  return defineStep({
    name: 'writers',
    summary:
      'Many writers create and change ConfigMaps while other steps run; no acknowledged write may be lost.',
    shape: object({
      count: described('How many writers.', countShape),
      namespace: described('Default: `default`.', optional(string)),
      atLeast: described(
        'How many writes must be acknowledged. Default: one for each writer.',
        optional(countShape),
      ),
      during: described('Steps that run meanwhile.', steps),
    }),
    title: ({ count, during }) =>
      `${count} writers while: ${during.map((one) => one.title).join('; ')}`,
    run: async (params, context) => {
      const { client, resources, clock, note } = context
      const { count, namespace = 'default', atLeast = count, during } = params
      const configMaps = client.resource(resources.configMaps)
      const run = clock.uuid().slice(0, 8)
      const prefixOf = (index: number): string => `writer-${run}-${index}`
      const stop = new AbortController()
      const writing = Promise.all(
        Array.from({ length: count }, (_, index) =>
          write(configMaps, { prefix: prefixOf(index), namespace, stop: stop.signal, context }),
        ),
      )
      writing.catch(() => {}) // awaited below, after the steps have ended
      try {
        await context.runSteps(during, 'during')
      } finally {
        stop.abort(new Error('the steps have ended'))
      }
      const ledgers = await writing
      const list = await configMaps.list({ namespace }, context.signal)
      const found = new Map(list.items.map((one) => [one.metadata.name ?? '', one]))
      const acknowledged = ledgers.reduce((sum, one) => sum + 2 * one.created.length, 0)
      const lost = lostWrites(ledgers, found, prefixOf)
      note(`${acknowledged} writes acknowledged, ${lost.length} of them lost`)
      if (lost.length === 0 && acknowledged >= atLeast) return
      throw new AssertionFailure({
        message:
          lost.length > 0 ? 'acknowledged writes were lost' : 'too few writes to check anything',
        expected: [`every one of at least ${atLeast} acknowledged writes`],
        actual: [`${acknowledged} acknowledged`, ...lost.slice(0, 20)],
      })
    },
  })
}
