/** End: what the lesson made, and the button that deletes it. */
import type { LessonRow } from '../../../protocol/lessons.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { endLesson } from './lessons-api.ts'

export function End({
  lesson: { name, makes },
  onEnded,
}: {
  readonly lesson: LessonRow
  readonly onEnded: () => void
}) {
  return (
    <section class="lesson-end" aria-label="End of the lesson">
      {makes.length > 0 && (
        <>
          <p>Ending the lesson deletes what it made, if it is there:</p>
          <ul>
            {makes.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        </>
      )}
      <ActionButton
        isMain
        label={makes.length > 0 ? 'Delete and end' : 'End the lesson'}
        send={() => endLesson(name)}
        onDone={onEnded}
      />
    </section>
  )
}
