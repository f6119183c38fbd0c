/** chaos: a weighted, seeded mix of faults for a while, and what must never happen meanwhile. */
import { mixOf, mixShape } from '../../../cluster/lab/chaos/mix-shape.ts'
import { silentFaults } from '../../../cluster/lab/chaos/chaos-report.ts'
import type { ChaosReport, ChaosSpec } from '../../../cluster/lab/chaos/chaos-report.ts'
import { firedText } from '../../../cluster/lab/describe-fault.ts'
import {
  described,
  duration,
  list,
  object,
  optional,
  readable,
  secondsText,
} from '../../../cluster/shape.ts'
import type { Shape } from '../../../cluster/shape.ts'
import { AssertionFailure } from '../assertion-failure.ts'
import { activeFaultLines } from '../failure-context.ts'
import { NestedFailure } from '../failure-lines.ts'
import { monitorsShape, startScenarioMonitors } from '../scenario-monitors.ts'
import type { ScenarioMonitors } from '../scenario-monitors.ts'
import { defineStep } from '../step.ts'
import type { ScenarioStep, StepContext, StepKind } from '../step.ts'
import { watchMeanwhile } from '../watch-meanwhile.ts'
import type { Guard } from '../watch-meanwhile.ts'
import { holdsRule, holdsShape, neverRule, neverShape } from './never.ts'

const seed = readable('a whole number from 0 to 4294967295', (text) => {
  const isSeed = /^\d{1,10}$/.test(text) && Number(text) < 2 ** 32
  if (text !== 'var' && !isSeed) throw new Error('must be a whole number from 0 to 4294967295')
})

interface Judged {
  readonly rules: readonly Omit<Guard, 'meanwhile'>[]
  readonly monitors: ScenarioMonitors | undefined
}

/** Runs `work` while all of it is judged. Rejects with the first rule that is broken, or with what the monitors saw. */
async function judged(
  { rules: [rule, ...rules], monitors }: Judged,
  context: StepContext,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  if (rule !== undefined) {
    const meanwhile: Guard['meanwhile'] = (signal) =>
      judged({ rules, monitors }, { ...context, signal }, work)
    return await watchMeanwhile({ ...rule, meanwhile }, context)
  }
  if (monitors === undefined) return await work(context.signal)
  const end = await startScenarioMonitors(monitors, context)
  let lines: string[] = []
  try {
    await work(context.signal)
  } finally {
    lines = await end()
  }
  const [message, ...actual] = lines
  if (message !== undefined) throw new AssertionFailure({ message, expected: [], actual })
}

/** Resolves when the cluster's clock has gone on by `forMs` since `sinceMs`, or the chaos has been stopped. */
async function waitForEnd(
  { forMs, sinceMs }: { readonly forMs: number; readonly sinceMs: number },
  { cluster: { lab }, clock, signal }: StepContext,
): Promise<void> {
  let isOver = false
  const over = lab.chaos.over().then(() => void (isOver = true))
  for (;;) {
    // In an embedded cluster the scenario's clock takes the cluster's along.
    const leftMs = sinceMs + forMs - (await lab.time.state()).nowMs
    if (isOver || leftMs <= 0) break
    const enough = new AbortController()
    const late = clock.sleep(leftMs, AbortSignal.any([signal, enough.signal]))
    try {
      await Promise.race([over, late])
    } finally {
      enough.abort(new Error('the chaos is over'))
      late.catch(() => {}) // nothing waits for it any more
    }
  }
  await over
}

function noteReport(report: ChaosReport, note: (text: string) => void): void {
  const sum = (what: 'begun' | 'fired'): number =>
    report.faults.reduce((total, one) => total + one[what], 0)
  note(`chaos with seed ${report.seed}: ${sum('begun')} faults, which fired ${sum('fired')} times`)
  for (const { what } of silentFaults(report)) note(`${what}: ${firedText(0)}`)
  for (const { what, why } of report.refused) note(`${what}: refused: ${why}`)
}

interface ChaosStep {
  readonly spec: ChaosSpec
  readonly judged: Judged
  readonly during: readonly ScenarioStep[] | undefined
}

async function runChaos({ spec, judged: by, during }: ChaosStep, context: StepContext) {
  const { cluster, clock, note, onFailure } = context
  const { chaos, time } = cluster.lab
  const sinceMs = (await time.state()).nowMs
  const begun = await chaos.begin(spec)
  const name = `chaos with seed ${begun.seed}`
  try {
    await judged(by, context, async (signal) => {
      if (during !== undefined) await context.runSteps(during, 'during', { signal })
      await waitForEnd({ forMs: spec.forMs, sinceMs }, { ...context, signal })
    })
  } catch (error) {
    const afterMs = (await time.state()).nowMs - sinceMs
    const active = await activeFaultLines('faults that held then', { cluster, clock })
    onFailure(() => [
      `it failed ${secondsText(Math.round(afterMs))} after the ${name} began`,
      ...active,
      `to replay it: give the step the field seed: ${begun.seed}`,
    ])
    throw new NestedFailure(name, error)
  } finally {
    noteReport(await chaos.stop(), note)
  }
}

export function createChaos(steps: Shape<ScenarioStep[]>): StepKind {
  return defineStep({
    name: 'chaos',
    summary:
      'Break parts of the cluster at random for a time of its clock, the same for the same seed, and judge it meanwhile.',
    shape: object({
      for: described('How long it goes on.', duration),
      seed: described(
        'Which faults happen when: a whole number. Default: one that the report tells.',
        optional(seed),
      ),
      mix: described(
        'The faults. Default: all kinds that the cluster can have.',
        optional(mixShape),
      ),
      never: described(
        'What must not be so at any moment of it, each as in a step `never`.',
        optional(list(neverShape)),
      ),
      holds: described(
        'What must be so at every moment of it, each as in a step `holds`.',
        optional(list(holdsShape)),
      ),
      monitors: described(
        'Monitors that judge it, as of a whole scenario.',
        optional(monitorsShape),
      ),
      during: described('Steps that run meanwhile.', optional(steps)),
    }),
    title: ({ for: forMs, seed: drawn, during }) =>
      [
        `chaos for ${secondsText(forMs)}`,
        drawn === undefined ? '' : ` with seed ${drawn}`,
        during === undefined ? '' : `, while: ${during.map((one) => one.title).join('; ')}`,
      ].join(''),
    run: async (params, context) => {
      const { for: forMs, seed: drawn, mix, never = [], holds = [], monitors, during } = params
      const spec = {
        forMs,
        ...(drawn === undefined ? {} : { seed: Number(drawn) }),
        ...(mix === undefined ? {} : { mix: mixOf(mix) }),
      }
      const rules = [...never.map(neverRule), ...holds.map(holdsRule)]
      await runChaos({ spec, judged: { rules, monitors }, during }, context)
    },
  })
}
