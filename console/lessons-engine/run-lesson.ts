/** Running a lesson on a terminal: each step in turn, until its check holds, or the learner skips it or ends the lesson. */
import type { ScenarioCluster } from '../../scenarios/engine/scenario-cluster.ts'
import { aborted } from '../../components/component-base/aborted.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import type { CommandFolder } from './command-folder.ts'
import type { InputLines } from './input-lines.ts'
import type { LessonSession } from './lesson-session.ts'
import { performLook, performStep } from './perform-step.ts'
import type { Performance } from './perform-step.ts'
import type { TourText } from './tour-text.ts'

export interface StepResult {
  readonly heading: string
  readonly outcome: 'done' | 'skipped' | 'failed' | 'not reached'
  readonly durationMs: number
  /** What was not as it should be, line by line; of a step that is done nothing. */
  readonly report: readonly string[]
}

export interface LessonResult {
  readonly name: string
  readonly file: string
  readonly title: string
  /** `ended`: the learner left before the last step was over. */
  readonly outcome: 'done' | 'ended' | 'failed'
  readonly durationMs: number
  readonly steps: readonly StepResult[]
}

export interface RunLessonOptions {
  readonly session: LessonSession
  readonly cluster: ScenarioCluster
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly folder: CommandFolder
  readonly text: TourText
  /** Performs each step itself, and gives up on a step that is not done in time. */
  readonly does: boolean
  /** What the learner types; absent without a terminal. */
  readonly input?: InputLines | undefined
}

const hintAfterMs = 30_000
/** Of a step that is performed. */
const withinMs = 60_000

type Left = 'skipped' | 'ended' | 'failed'

/** One step: what the learner types meanwhile, and how it ends. */
class StepRun {
  readonly #index: number
  readonly #options: RunLessonOptions
  readonly #left = new AbortController()
  readonly #signal: AbortSignal
  #outcome: Left | undefined
  #report: readonly string[] = []
  #performance: Performance | undefined
  /** What the learner had done for them: its output comes before what happened. */
  #performing: Promise<void> | undefined

  constructor(index: number, options: RunLessonOptions) {
    this.#index = index
    this.#options = options
    this.#signal = AbortSignal.any([options.signal, this.#left.signal])
  }

  async run(): Promise<{ outcome: Left | 'done'; report: readonly string[] }> {
    const { session, clock, text, does, input } = this.#options
    text.step(session.view(this.#index), this.#index)
    const unsubscribe = input?.subscribe((line) => this.#typed(line))
    const cancelTimer = does
      ? clock.after(withinMs, () => this.#leave('failed'))
      : clock.after(hintAfterMs, () => this.#showHint())
    try {
      if (does) await this.#perform()
      return { outcome: await this.#untilOver(), report: [] }
    } catch (error) {
      if (this.#outcome === undefined) throw error
      return { outcome: this.#outcome, report: this.#reportLines() }
    } finally {
      cancelTimer()
      unsubscribe?.()
      this.#left.abort(new Error('the step is over'))
    }
  }

  async #untilOver(): Promise<'done'> {
    const { session, text, does } = this.#options
    for await (const verdict of session.verdicts(this.#index, this.#signal)) {
      this.#report = verdict.report
      if (!verdict.done) continue
      await Promise.race([this.#performing, aborted(this.#signal)])
      this.#signal.throwIfAborted()
      const look = does ? await performLook(this.#index, this.#options) : undefined
      text.done(session.view(this.#index), look?.output)
      return 'done'
    }
    throw new Error('verdicts do not end before their reader')
  }

  #reportLines(): readonly string[] {
    return [...(this.#performance?.failure ?? []), ...this.#report]
  }

  #leave(outcome: Left): void {
    this.#outcome = outcome
    this.#left.abort(new Error(`the step is ${outcome}`))
  }

  #showHint(): void {
    const { session, text } = this.#options
    text.hint(session.view(this.#index).hint, this.#report)
  }

  #typed(line: string): void {
    const { session, text } = this.#options
    const word = line.trim()
    if (word === 'n') this.#leave('skipped')
    else if (word === 'q') this.#leave('ended')
    else if (word === 'h') this.#showHint()
    else if (word === 'd') this.#performing = this.#performOnRequest()
    else if (session.view(this.#index).question === undefined) text.keys()
    else if (word !== '') this.#answer(word)
  }

  #answer(answer: string): void {
    const { session, text } = this.#options
    const { matches } = session.lesson.steps[this.#index]?.check.answer ?? {}
    if (matches !== undefined && !new RegExp(matches, 'i').test(answer)) text.wrongAnswer()
    session.answer(this.#index, answer)
  }

  async #performOnRequest(): Promise<void> {
    try {
      await this.#perform()
    } catch (error) {
      this.#options.text.failed([messageOf(error)])
    }
  }

  async #perform(): Promise<void> {
    const { session, text, does } = this.#options
    const performance = await performStep(this.#index, this.#options)
    this.#performance = performance
    text.output(performance.output)
    const { question } = session.view(this.#index)
    if (question !== undefined) session.answer(this.#index, performance.output)
    else if (!does && performance.failure.length > 0) text.failed(performance.failure)
  }
}

/** Takes the steps in order. Resolves when the lesson is over; rejects only when `signal` aborts, or a check cannot be made. */
export async function runLesson(options: RunLessonOptions): Promise<LessonResult> {
  const { session, clock } = options
  const { name, file, title, steps } = session.lesson
  const startedMs = clock.now()
  const results: StepResult[] = []
  let over: 'ended' | 'failed' | undefined
  for (const [index] of steps.entries()) {
    const { heading } = session.view(index)
    if (over !== undefined) {
      results.push({ heading, outcome: 'not reached', durationMs: 0, report: [] })
      continue
    }
    const beganMs = clock.now()
    const { outcome, report } = await new StepRun(index, options).run()
    if (outcome === 'ended' || outcome === 'failed') over = outcome
    const stepOutcome = outcome === 'ended' ? 'not reached' : outcome
    results.push({ heading, outcome: stepOutcome, durationMs: clock.now() - beganMs, report })
  }
  const durationMs = clock.now() - startedMs
  return { name, file, title, outcome: over ?? 'done', durationMs, steps: results }
}
