/** Lesson session: one learner's way through a lesson: steps with their variables filled in, and the verdicts of their checks. */
import { createVariables } from '../../scenarios/engine/variables.ts'
import type { Variables } from '../../scenarios/engine/variables.ts'
import { answerVerdicts } from './answer-verdicts.ts'
import type { Check, Question } from './check.ts'
import { componentVerdicts } from './component-verdicts.ts'
import { latest } from './latest.ts'
import type { LessonPlace } from './lesson-place.ts'
import type { Lesson, LessonStep } from './lesson.ts'
import { toolsOfStep } from './lesson-tools.ts'
import type { Tool } from './lesson-tools.ts'
import { objectVerdicts } from './object-verdicts.ts'
import { joined, notDone } from './verdict.ts'
import type { ConditionVerdict, ConditionVerdicts, Verdict } from './verdict.ts'
import { untilWoken } from './wake.ts'

/** A step as the learner sees it. */
export interface StepView {
  readonly heading: string
  /** Markdown. */
  readonly text: string
  readonly command: string
  /** What the command and `look` need. */
  readonly tools: readonly Tool[]
  /** True when the step can be done without a shell. */
  readonly hasAction: boolean
  /** To be answered with `answer`. */
  readonly question?: string
  readonly hint?: string
  /** Markdown, for when the step is done. */
  readonly explanation: string
  readonly look?: string
}

export interface LessonSession {
  readonly lesson: Lesson
  readonly variables: Variables
  /** Variables that earlier steps save are filled in once these are done; until then the text shows their names. */
  view(index: number): StepView
  /** Looks once. A step that is done sets its variables. */
  check(index: number, signal: AbortSignal): Promise<Verdict>
  /**
   * A verdict at once, then one after each change, by watching. It never ends by itself: leaving the loop ends all watches. A step
   * that is done sets its variables before its verdict is given.
   */
  verdicts(index: number, signal: AbortSignal): AsyncGenerator<Verdict>
  /** Answers the question of a step; its verdicts follow. */
  answer(index: number, text: string): void
}

/** The answers so far, by step. */
class Answers {
  readonly #texts = new Map<number, string>()
  readonly #waiting = new Set<() => void>()

  set(index: number, text: string): void {
    this.#texts.set(index, text)
    for (const wake of this.#waiting) wake()
  }

  verdicts(index: number, { question, matches }: Question): ConditionVerdicts {
    const texts = this.#texts
    const waiting = this.#waiting
    return async function* (signal) {
      for (;;) {
        const text = texts.get(index)
        const isRight = text !== undefined && new RegExp(matches, 'i').test(text)
        if (isRight) yield { done: true, report: [], saved: {} }
        else if (text === undefined) yield notDone(`not answered yet: ${question}`)
        else yield notDone('that is another answer than expected')
        if (texts.get(index) === text) await untilWoken(waiting, signal)
      }
    }
  }
}

function conditionsOf(
  check: Check,
  { place, answers, index }: { place: LessonPlace; answers: Answers; index: number },
): ConditionVerdicts[] {
  const { expect = [], request = [], component = [], answer } = check
  return [
    ...expect.map((one) => objectVerdicts(one, place)),
    ...request.map((one) => answerVerdicts(one, place)),
    ...component.map((one) => componentVerdicts(one, place)),
    ...(answer === undefined ? [] : [answers.verdicts(index, answer)]),
  ]
}

/** A variable that a skipped step would have set. */
async function* neverDone(error: unknown, signal: AbortSignal): AsyncGenerator<ConditionVerdict> {
  yield notDone(`${(error as Error).message}: an earlier step that sets it was not done`)
  await untilWoken(new Set(), signal)
}

function viewOf(step: LessonStep, { expand }: Variables): StepView {
  const { heading, text, command, hint, explanation, look, check, action } = step
  const question = check.answer?.question
  return {
    heading: expand(heading),
    text: expand(text).trim(),
    command: expand(command).trim(),
    tools: toolsOfStep(step),
    hasAction: action !== undefined,
    ...(question === undefined ? {} : { question: expand(question) }),
    ...(hint === undefined ? {} : { hint: expand(hint).trim() }),
    explanation: expand(explanation).trim(),
    ...(look === undefined ? {} : { look: expand(look).trim() }),
  }
}

/** Opens no connection before the first check. */
export function createLessonSession(lesson: Lesson, place: LessonPlace): LessonSession {
  const variables = createVariables(place.client.dialect, {
    ...place.variables,
    ...lesson.variables,
  })
  const answers = new Answers()
  const stepAt = (index: number): LessonStep => {
    const step = lesson.steps[index]
    if (step === undefined) throw new RangeError(`the lesson has no step ${index}`)
    return step
  }
  async function* verdicts(index: number, signal: AbortSignal): AsyncGenerator<Verdict> {
    let check: Check
    try {
      check = variables.resolve(stepAt(index).check)
    } catch (error) {
      return yield* neverDone(error, signal)
    }
    for await (const parts of latest(conditionsOf(check, { place, answers, index }), signal)) {
      const { done, report, saved } = joined(parts)
      for (const [name, value] of Object.entries(saved)) variables.set(name, value)
      yield { done, report }
    }
  }
  return {
    lesson,
    variables,
    view: (index) => viewOf(stepAt(index), variables),
    check: async (index, signal) => {
      for await (const verdict of verdicts(index, signal)) return verdict
      throw new Error('verdicts do not end before their reader')
    },
    verdicts,
    answer: (index, text) => answers.set(index, text),
  }
}
