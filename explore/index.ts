/** What `import ... from 'kube-skiff/explore'` gives: `skiff explore` for a controller that is a function. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '../components/component-base/clock.ts'
import { yamlOf } from '../components/machinery/values/yaml.ts'
import { explore as exploreStory } from './explore.ts'
import type { ExploreReport } from './explore.ts'
import { checkExplore } from './explore-options.ts'
import type {
  ControllerFunction,
  ExploredPlan,
  ExploreOptions,
  StoryDocument,
} from './explore-options.ts'
import { ExplorationError, foundError, unfitError } from './exploration-error.ts'
import { describeFinding } from './finding.ts'
import { functionController } from './function-controller.ts'
import { isFound } from './judge-plan.ts'
import type { PlanResult } from './judge-plan.ts'
import { readPlanFile } from './plan-file.ts'
import { planKinds } from './planned-fault.ts'
import type { PlanKind } from './planned-fault.ts'
import { replay } from './replay.ts'
import { titleOf, writeFindings } from './report.ts'
import { parseStory, readStory } from './story.ts'
import type { Story } from './story.ts'

export { ExplorationError } from './exploration-error.ts'
export type { FoundPlan } from './exploration-error.ts'
export type {
  ControllerContext,
  ControllerFunction,
  ExploredPlan,
  ExploreOptions,
  StoryDocument,
} from './explore-options.ts'
export type { PlanKind } from './planned-fault.ts'

function exploredPlan(result: PlanResult): ExploredPlan {
  return {
    kind: result.plan.kind,
    title: titleOf(result),
    outcome: result.outcome,
    findings: result.findings.map(describeFinding),
    tookMs: Math.round(result.run.seconds * 1000),
  }
}

/** A story of the code's own is a file below `findings` once something was found, so that a plan leads to it. */
interface ToldStory {
  readonly story: Story
  readonly file: (folder: string) => string
}

function toldStory(given: string | StoryDocument): ToldStory {
  if (typeof given === 'string') return { story: readStory(given), file: () => resolve(given) }
  const manifests = given.manifests?.map((path) => resolve(path))
  const text = yamlOf(JSON.stringify({ ...given, manifests }))
  return {
    story: parseStory(text, 'story'),
    file: (folder) => {
      mkdirSync(folder, { recursive: true })
      const file = resolve(join(folder, 'story.yaml'))
      writeFileSync(file, text)
      return file
    },
  }
}

/** Runs the work with the controller, and ends it when a killed controller goes on. */
async function withController<T>(
  {
    controller,
    signal: given,
  }: Pick<ExploreOptions, 'signal'> & {
    readonly controller: ControllerFunction
  },
  work: (under: {
    readonly controller: ReturnType<typeof functionController>
    readonly clock: typeof systemClock
    readonly signal: AbortSignal
  }) => Promise<T>,
): Promise<T> {
  const stuck = new AbortController()
  const onStuck = (): void =>
    stuck.abort(
      new ExplorationError(
        'the controller goes on 5 s after it was killed: it must end when its signal aborts',
      ),
    )
  const signals = given === undefined ? [stuck.signal] : [stuck.signal, given]
  const signal = AbortSignal.any(signals)
  return await work({
    controller: functionController({ controller, onStuck }),
    clock: systemClock,
    signal,
  })
}

function filesOf(report: ExploreReport, folder: string, place: ToldStory, values?: string) {
  const found = report.results.filter(isFound)
  if (found.length === 0) return []
  const files = writeFindings(report, { folder, story: place.file(folder), values })
  return found.map((result, index) => ({
    title: titleOf(result),
    findings: result.findings.map(describeFinding),
    file: files[index] ?? '',
  }))
}

async function replayed(
  file: string,
  { controller, signal }: Pick<ReturnType<typeof checkExplore>, 'controller' | 'signal'>,
): Promise<readonly ExploredPlan[]> {
  const { plan, story, values } = readPlanFile(file)
  const { unfit, results, lines } = await withController(
    { controller, signal },
    async (under) => await replay({ plan, values, story: readStory(story), ...under }),
  )
  if (unfit.length > 0) throw unfitError(unfit.map(describeFinding))
  if (!results.some(isFound)) return results.map(exploredPlan)
  const found = results.map((result) => ({
    title: titleOf(result),
    findings: result.findings.map(describeFinding),
    file,
  }))
  throw new ExplorationError(lines.join('\n'), found)
}

/**
 * Tells the story without faults, makes plans from what the controller did, and runs each on the cluster as it was before. Resolves with the
 * plans in the order in which they ended when none found anything. Rejects with an ExplorationError for findings, whose plans it writes as
 * files; with an OptionError for invalid options; with a ClusterError for a story that cannot be told; and with the signal's reason.
 */
export async function explore(options: ExploreOptions): Promise<readonly ExploredPlan[]> {
  const checked = checkExplore(options)
  const { plan, story: given, onPlan, values } = checked
  if (plan !== undefined) return await replayed(plan, checked)
  const place = toldStory(given ?? { steps: [] })
  const report = await withController(
    checked,
    async (under) =>
      await exploreStory({
        story: place.story,
        kinds: checked.plans ?? (Object.keys(planKinds) as PlanKind[]),
        values,
        mixes: { count: checked.mixes ?? 0, seed: checked.seed ?? 1 },
        jobs: checked.jobs ?? 2,
        timeMs: checked.for ?? 600_000,
        mostPlans: checked.most ?? 300,
        stopsAtFirst: checked.first ?? false,
        onProgress: (progress) => {
          if (progress.kind === 'plan') onPlan?.(exploredPlan(progress.result))
        },
        ...under,
      }),
  )
  if (report.unfit.length > 0) throw unfitError(report.unfit.map(describeFinding))
  const found = filesOf(report, checked.findings ?? 'findings', place, values)
  if (found.length > 0) throw foundError(found)
  return report.results.map(exploredPlan)
}
