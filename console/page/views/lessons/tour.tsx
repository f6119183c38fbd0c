/** Tour: a lesson that was begun, step by step. */
import { useState } from 'preact/hooks'
import type { LessonRow } from '../../../protocol/lessons.ts'
import { End } from './end.tsx'
import { forgetStep, keepStep, readStep } from './progress.ts'
import { Step } from './step.tsx'

export function Tour({
  lesson,
  onEnded,
}: {
  readonly lesson: LessonRow
  readonly onEnded: () => void
}) {
  const { name, steps } = lesson
  const [step, setStep] = useState(() => readStep(sessionStorage, lesson))
  const [doneStep, setDoneStep] = useState<number>()
  const [isEnding, setEnding] = useState(false)
  const goTo = (next: number): void => {
    keepStep(sessionStorage, name, next)
    setStep(next)
    setEnding(false)
  }
  const isOver = step === steps
  const isDone = doneStep === step
  const end = (): void => {
    forgetStep(sessionStorage, name)
    onEnded()
  }
  return (
    <>
      <div class="lesson-progress">
        <progress aria-label="Steps taken" max={steps} value={step} />
        <span>{isOver ? 'All steps taken' : `Step ${step + 1} of ${steps}`}</span>
      </div>
      {isOver ? (
        <h2>That was the lesson</h2>
      ) : (
        <Step key={step} name={name} step={step} onDone={() => setDoneStep(step)} />
      )}
      <div class="lesson-buttons">
        <button type="button" disabled={step === 0} onClick={() => goTo(step - 1)}>
          Back
        </button>
        {!isOver && (
          <button
            type="button"
            class={isDone ? 'main-action' : undefined}
            onClick={() => goTo(step + 1)}
          >
            {isDone ? 'Next' : 'Skip'}
          </button>
        )}
        {!isOver && !isEnding && (
          <button type="button" class="apart" onClick={() => setEnding(true)}>
            End the lesson
          </button>
        )}
      </div>
      {(isOver || isEnding) && <End lesson={lesson} onEnded={end} />}
    </>
  )
}
