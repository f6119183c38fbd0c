/** Step: one step of a lesson: what to know, what to type, what its check sees, and what happened. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { LessonStepRow } from '../../../protocol/lessons.ts'
import { followLesson } from '../../app/live.ts'
import { CommandLine } from '../../parts/command-line.tsx'
import { MarkdownText } from '../../parts/markdown-text.tsx'
import { ActionButton } from '../../parts/action-button.tsx'
import { performStep } from './lessons-api.ts'
import { Question } from './question.tsx'

const hintAfterMs = 30_000

function Hint({ hint }: { readonly hint: string }) {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), hintAfterMs)
    return () => clearTimeout(timer)
  }, [])
  if (isShown) {
    return (
      <div class="hint" role="status">
        <strong>Hint</strong>
        <MarkdownText text={hint} />
      </div>
    )
  }
  return (
    <p>
      <button type="button" onClick={() => setShown(true)}>
        Show a hint
      </button>
    </p>
  )
}

function Verdict({ row: { done, report } }: { readonly row: LessonStepRow }) {
  if (done) {
    return (
      <p class="verdict is-done" role="status">
        <span aria-hidden="true">✓</span> Done
      </p>
    )
  }
  return (
    <div class="verdict" role="status">
      <strong>{report === undefined ? 'Looking' : 'Not done yet'}</strong>
      {report !== undefined && report.length > 0 && (
        <ul>
          {report.map((line, at) => (
            <li key={at}>{line}</li>
          ))}
        </ul>
      )}
    </div>
  )
}

function Ending({ message, onAgain }: { readonly message: string; readonly onAgain: () => void }) {
  return (
    <div class="verdict" role="alert">
      <strong>The check cannot be made.</strong> {message}{' '}
      <button type="button" onClick={onAgain}>
        Look again
      </button>
    </div>
  )
}

function Explanation({ row: { explanation, look } }: { readonly row: LessonStepRow }) {
  if (explanation === undefined) return null
  return (
    <section class="explanation" aria-label="What happened">
      <MarkdownText text={explanation} />
      {look !== undefined && (
        <>
          <p>See it:</p>
          <CommandLine text={look} label="Command that shows the result" />
        </>
      )}
    </section>
  )
}

export interface StepProps {
  readonly name: string
  readonly step: number
  /** Called once the step is seen done. */
  readonly onDone: () => void
}

export function Step({ name, step, onDone }: StepProps) {
  const [tries, setTries] = useState(0)
  const followed = useMemo(() => followLesson({ name, step }), [name, step, tries])
  useEffect(() => followed.leave, [followed])
  const { rows, end } = followed.live.value
  const row = rows.get(String(step))
  const isDone = row?.done === true
  useEffect(() => {
    if (isDone) onDone()
  }, [isDone])
  const heading = useRef<HTMLHeadingElement>(null)
  const isHere = row !== undefined
  // A screen reader begins with the new step.
  useEffect(() => {
    if (isHere && step > 0) heading.current?.focus()
  }, [isHere, step])
  const ending = end && <Ending message={end.message} onAgain={() => setTries(tries + 1)} />
  if (row === undefined) return ending ?? <p class="empty">Reading the step</p>
  const { text, command, question, hint, done } = row
  return (
    <article class="step">
      <h2 ref={heading} tabIndex={-1}>
        {row.heading}
      </h2>
      <MarkdownText text={text} />
      <CommandLine text={command} label="Command of this step" />
      {row.mayPerform && !done && (
        <ActionButton label="Do it for me" send={() => performStep(name, step)} />
      )}
      {question !== undefined && !done && <Question name={name} step={step} question={question} />}
      {end === undefined || done ? <Verdict row={row} /> : ending}
      {hint !== undefined && !done && <Hint hint={hint} />}
      <Explanation row={row} />
    </article>
  )
}
