/** Question: what the learner is asked, and a field for the answer. */
import { useState } from 'preact/hooks'
import { InlineText } from '../../parts/markdown-text.tsx'
import { answerStep } from './lessons-api.ts'
import { useAction } from '../../parts/use-action.ts'

const longestAnswer = 1000

export function Question({
  name,
  step,
  question,
}: {
  readonly name: string
  readonly step: number
  readonly question: string
}) {
  const [text, setText] = useState('')
  const { isRunning, fault, run } = useAction(() => answerStep(name, { step, text }))
  return (
    <form
      class="question"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() !== '') run()
      }}
    >
      <label>
        <InlineText text={question} />
        <input
          value={text}
          maxLength={longestAnswer}
          autocomplete="off"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={isRunning}>
        Answer
      </button>
      {fault !== undefined && (
        <p class="tone-bad" role="alert">
          {fault}
        </p>
      )}
    </form>
  )
}
