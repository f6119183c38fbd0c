/** `skiff explore`: looks for the bugs of a controller, and replays what it has found. */
import { resolve } from 'node:path'
import type { Clock } from '../components/component-base/clock.ts'
import { defineFlags, flag, nearestName } from '../components/component-base/flags.ts'
import { ClusterError } from '../cluster/cluster-error.ts'
import { defineCommand, outputFlag } from '../cluster/cli/command.ts'
import type { CommandContext } from '../cluster/cli/command.ts'
import { exitCodes } from '../cluster/cli/exit-codes.ts'
import { styled } from '../cluster/cli/terminal.ts'
import { commandController } from './controller-under-test.ts'
import { explore } from './explore.ts'
import type { ExploreReport, Progress } from './explore.ts'
import { describeFinding } from './finding.ts'
import type { Finding } from './finding.ts'
import { isFound } from './judge-plan.ts'
import type { Mixes } from './mix-plans.ts'
import { planKinds } from './planned-fault.ts'
import type { PlanKind } from './planned-fault.ts'
import { readPlanFile } from './plan-file.ts'
import { replay } from './replay.ts'
import { reportJson, summaryOf, titleOf, writeFindings } from './report.ts'
import { readStory } from './story.ts'

const controllerFlag = defineFlags({
  controller: flag.string(
    'Command that runs the controller; it finds the cluster by KUBECONFIG.',
    '',
  ),
})

const exploreFlags = defineFlags({
  ...controllerFlag,
  story: flag.string('File with the story: manifests and steps.', ''),
  plans: flag.list(`Kinds of plans: ${Object.keys(planKinds).join(', ')}. Default: all.`, []),
  mixes: flag.int('So many plans more, of two or three faults that found nothing alone.', 0, {
    least: 0,
  }),
  seed: flag.int('Which faults are mixed; drawn and printed by default.'),
  values: flag.string(
    'Change the values of this CustomResourceDefinition instead, such as caches.example.com.',
    '',
  ),
  jobs: flag.int('Clusters at once.', 2, { least: 1 }),
  time: flag.duration('No plan begins later than this.', 600_000, { least: 1 }),
  most: flag.int('No more plans than this.', 300, { least: 1 }),
  first: flag.bool('Stop at the first finding: no further plan begins.', false),
  findings: flag.string('Folder for the plans that found something.', 'findings'),
  ...outputFlag,
})

function needed(given: string, name: string): string {
  if (given !== '') return given
  throw new ClusterError('usage', `skiff explore needs --${name}`, {
    hint: 'see: skiff explore --help',
  })
}

function kindsOf(names: readonly string[]): readonly PlanKind[] {
  const known = Object.keys(planKinds) as PlanKind[]
  if (names.length === 0) return known
  return names.map((name) => {
    const kind = known.find((one) => one === name)
    if (kind !== undefined) return kind
    const nearest = nearestName(name, known)
    const hint = nearest === undefined ? `use ${known.join(', ')}` : `did you mean ${nearest}?`
    throw new ClusterError('usage', `--plans: there is no kind of plans "${name}"`, { hint })
  })
}

function mixesOf(
  { mixes: count, seed, values }: { mixes: number; seed: number | undefined; values: string },
  clock: Clock,
): Mixes {
  if (count > 0 && values !== '')
    throw new ClusterError('usage', '--mixes are of faults, and --values has none', {
      hint: 'leave one of them out',
    })
  if (seed !== undefined && (seed < 0 || seed >= 2 ** 32))
    throw new ClusterError('usage', `invalid seed ${seed}: it must be from 0 to 4294967295`)
  return { count, seed: seed ?? Math.floor(clock.random() * 2 ** 32) }
}

function printProgress({ terminal }: CommandContext, progress: Progress): void {
  const colors = terminal.errColors
  if (progress.kind === 'reference') {
    const { writes, seconds, plans } = progress
    const told = `reference: ${writes} writes in ${seconds.toFixed(1)} s; ${plans} plans`
    terminal.err(`${styled(told, 'bold', colors)}\n`)
    return
  }
  if (progress.kind === 'mixes') {
    const told = `mixes: ${progress.count} plans, seed ${progress.seed}`
    terminal.err(`${styled(told, 'bold', colors)}\n`)
    return
  }
  const { done, of, result } = progress
  const sign = isFound(result) ? styled('✗', 'red', colors) : styled('✓', 'green', colors)
  const took = styled(`(${done}/${of}, ${result.run.seconds.toFixed(1)} s)`, 'dim', colors)
  const more = { passed: '', found: '', once: ' (only once)', 'not-met': ' (did not come about)' }
  terminal.err(`  ${sign} ${titleOf(result)}${more[result.outcome]} ${took}\n`)
  for (const finding of result.findings.slice(0, 3))
    terminal.err(`      ${describeFinding(finding)}\n`)
}

/** What keeps the controller from being explored: it fails without any fault. */
function printUnfit({ terminal }: CommandContext, unfit: readonly Finding[]): void {
  if (unfit.length === 0) return
  terminal.err('the story does not come to the same end without any fault:\n')
  for (const finding of unfit) {
    terminal.err(`  ${describeFinding(finding)}\n`)
    if ('output' in finding) for (const line of finding.output) terminal.err(`    ${line}\n`)
  }
}

function exitCodeOf({ unfit, results }: Pick<ExploreReport, 'unfit' | 'results'>): number {
  return unfit.length > 0 || results.some(isFound) ? exitCodes.failed : exitCodes.ok
}

const exploreCommand = defineCommand({
  name: 'explore',
  summary: 'Look for the bugs of a controller: kill it, refuse it and mislead it at every point',
  description:
    'Tells the story without faults, makes plans from what the controller did, and runs each on the cluster as it was before. ' +
    'Exits with 1 when a plan found something, and with 2 for a story or flags that are invalid.',
  flags: exploreFlags,
  handlesInterrupt: true,
  examples: [
    [
      "skiff explore --controller 'node dist/operator.js' --story story.yaml",
      'Run all plans, two at a time',
    ],
    [
      'skiff explore --controller ./operator --story story.yaml --plans kill,lost-answer --time 2m',
      'Kill it, and lose answers, for two minutes',
    ],
    [
      'skiff explore --controller ./operator --story story.yaml --mixes 20',
      'Then 20 plans of several faults each',
    ],
    [
      'skiff explore --controller ./operator --story story.yaml --values caches.example.com',
      'Change each value of a Cache, and back',
    ],
  ],
  run: async (context, { flags: given }) => {
    const { terminal, clock, signal } = context
    const command = needed(given.controller, 'controller')
    const story = readStory(needed(given.story, 'story'))
    const values = given.values === '' ? undefined : given.values
    const mixes = mixesOf(given, clock)
    const report = await explore({
      story,
      controller: commandController(command, process.cwd()),
      kinds: kindsOf(given.plans),
      values,
      mixes,
      jobs: given.jobs,
      timeMs: given.time,
      mostPlans: given.most,
      stopsAtFirst: given.first,
      clock,
      signal,
      onProgress: (progress) => printProgress(context, progress),
    })
    if (report.unfit.length > 0) printUnfit(context, report.unfit)
    const place = { folder: given.findings, story: resolve(story.file), values }
    const files = writeFindings(report, place)
    terminal.out(given.output === 'json' ? reportJson(report, files) : summaryOf(report, files))
    return exitCodeOf(report)
  },
})

const replayCommand = defineCommand({
  name: 'explore replay',
  summary: 'Run a plan again that found something',
  description:
    'Tells the story without faults, then with those of the plan, and prints both beside each other. ' +
    'Exits with 1 when the finding is there, and with 0 when it is gone.',
  arguments: [{ name: 'PLAN' }],
  flags: defineFlags({ ...controllerFlag, ...outputFlag }),
  handlesInterrupt: true,
  examples: [
    [
      "skiff explore replay findings/01-killed-after.yaml --controller 'node dist/operator.js'",
      'See whether the bug is fixed',
    ],
  ],
  run: async (context, { flags: given, args: [file = ''] }) => {
    const { terminal, clock, signal } = context
    const { plan, story: storyFile, values } = readPlanFile(file)
    const controller = commandController(needed(given.controller, 'controller'), process.cwd())
    const story = readStory(storyFile)
    const { unfit, results, lines } = await replay({
      plan,
      story,
      values,
      controller,
      clock,
      signal,
    })
    printUnfit(context, unfit)
    if (given.output === 'json') {
      const findings = results.flatMap((one) => one.findings)
      terminal.out(`${JSON.stringify({ unfit, findings, timeline: lines })}\n`)
    } else terminal.out(lines.map((line) => `${line}\n`).join(''))
    return exitCodeOf({ unfit, results })
  },
})

export const exploreCommands = [exploreCommand, replayCommand]
