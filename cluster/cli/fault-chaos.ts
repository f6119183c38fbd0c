/** `skiff fault chaos`: a weighted, seeded mix of faults over a time of the cluster's clock. */
import type { Clock } from '../../components/component-base/clock.ts'
import { defineFlags, flag, formatDuration } from '../../components/component-base/flags.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ChaosMix } from '../lab/chaos/chaos-mix.ts'
import { silentFaults } from '../lab/chaos/chaos-report.ts'
import type { ChaosReport } from '../lab/chaos/chaos-report.ts'
import { checkMix } from '../lab/chaos/mix-shape.ts'
import { describeFault, firedText } from '../lab/describe-fault.ts'
import type { Lab } from '../lab/lab.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { readDocuments } from './fault-file.ts'
import { withCluster } from './find-cluster.ts'
import { withLateProgress } from './progress.ts'
import { table } from './terminal.ts'

async function mixIn(file: string): Promise<ChaosMix> {
  const { where, documents } = await readDocuments(file)
  const [document] = documents
  if (document === undefined || documents.length > 1)
    throw new ClusterError('usage', `${where} must hold one mix`)
  return checkMix(document.value, where)
}

function checkSeed(seed: number | undefined): void {
  if (seed === undefined || (seed >= 0 && seed < 2 ** 32)) return
  throw new ClusterError('usage', `invalid seed ${seed}: it must be from 0 to 4294967295`)
}

function reportText(report: ChaosReport): string {
  const taken = report.faults.filter(({ begun }) => begun > 0)
  const rows = taken.map(({ what, begun, fired }) => [what, String(begun), String(fired)])
  const lines = silentFaults(report).map(({ what }) => `${what}: ${firedText(0)}`)
  const refused = report.refused.map(({ what, why }) => `${what}: refused: ${why}`)
  const counts =
    rows.length === 0 ? 'no fault began\n' : table([['FAULT', 'BEGUN', 'FIRED'], ...rows])
  return [counts, ...[...lines, ...refused].map((line) => `${line}\n`)].join('')
}

interface Shown {
  readonly lab: Lab
  readonly clock: Clock
  readonly update: (note: string) => void
}

/** Says each second which faults hold, until the chaos is over. */
async function showingFaults(
  over: Promise<ChaosReport>,
  { lab, clock, update }: Shown,
): Promise<ChaosReport> {
  const end = new AbortController()
  const show = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(1000, end.signal)
      const faults = await lab.faults.list()
      const held = faults.filter(({ ended }) => ended === undefined)
      update(held.map(({ spec }) => describeFault(spec)).join(', ') || 'no fault holds')
    }
  }
  show().catch(() => {}) // it is over, or the supervisor is gone, of which `over` tells
  try {
    return await over
  } finally {
    end.abort(new Error('the chaos is over'))
  }
}

export const chaos = defineCommand({
  name: 'fault chaos',
  summary: 'Break parts of the cluster at random for a while, the same for the same seed',
  description:
    "The time is of the cluster's clock. Ctrl-C heals its faults.\n" +
    'A mix is a file: every (a duration), and faults, each with fault (as -o json shows the field spec), weight and for (two durations).\n' +
    'A part that is * stands for any that can have the fault.',
  flags: defineFlags({
    ...nameFlag,
    seed: flag.int('Which faults happen when; drawn and printed by default.'),
    for: flag.duration('How long.', 60_000, { least: 1 }),
    mix: flag.string('File with a mix in YAML or JSON; by default all kinds of faults.'),
    ...outputFlag,
  }),
  handlesInterrupt: true,
  examples: [
    ['skiff fault chaos --for 5m', 'Prints its seed'],
    ['skiff fault chaos --seed 7 --for 5m --mix mix.yaml', 'The same again, of your own faults'],
  ],
  run: async (context, { flags: given }) => {
    const { seed, for: forMs, output } = given
    const { terminal, signal, clock } = context
    checkSeed(seed)
    const mix = given.mix === undefined ? undefined : await mixIn(given.mix)
    return await withCluster(context, given.name, async ({ lab }) => {
      const begun = await lab.chaos.begin({
        forMs,
        ...(seed === undefined ? {} : { seed }),
        ...(mix === undefined ? {} : { mix }),
      })
      if (output !== 'json')
        terminal.out(
          `chaos for ${formatDuration(forMs)} of the cluster's clock: seed ${begun.seed}\n`,
        )
      const stop = (): void => void lab.chaos.stop()
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
      const report = await withLateProgress(context, 'chaos', (update) =>
        showingFaults(lab.chaos.over(), { lab, clock, update }),
      )
      signal.removeEventListener('abort', stop)
      terminal.out(output === 'json' ? `${JSON.stringify(report)}\n` : reportText(report))
      return signal.aborted ? exitCodes.interrupted : exitCodes.ok
    })
  },
})
