/** Begin: what a lesson needs and makes, and the button that begins it. */
import type { LessonRow } from '../../../protocol/lessons.ts'
import { info } from '../../app/live.ts'
import { CommandLine } from '../../parts/command-line.tsx'
import { InlineText } from '../../parts/markdown-text.tsx'
import { ActionButton } from '../../parts/action-button.tsx'
import { beginLesson } from './lessons-api.ts'

/** How to reach the cluster from a terminal. */
function Terminal() {
  const cluster = info.value
  if (cluster === undefined) return null
  if (!cluster.offers.control) {
    return (
      <p class="dim">
        Type the commands in a terminal that reaches this cluster. Steps about its processes cannot
        be checked: {cluster.missing['control']}.
      </p>
    )
  }
  const line = `export KUBECONFIG=$(skiff kubeconfig --path --name ${cluster.name})`
  return (
    <>
      <p>Type the commands in a terminal. Begin there with:</p>
      <CommandLine text={line} label="Command that reaches the cluster" />
    </>
  )
}

export function Begin({
  lesson,
  onBegun,
}: {
  readonly lesson: LessonRow
  readonly onBegun: () => void
}) {
  const { name, summary, steps, makes, flags } = lesson
  return (
    <article class="step">
      <p>
        <InlineText text={summary} />
      </p>
      <Terminal />
      <p class="dim">
        {steps} steps.{' '}
        {makes.length > 0 && `The lesson makes ${makes.join(', ')}, and deletes them at its end.`}
      </p>
      {flags.length > 0 && (
        <p class="dim">
          It was written for a cluster with {flags.join(', ')}. On others, steps may take longer.
        </p>
      )}
      <ActionButton isMain label="Begin" send={() => beginLesson(name)} onDone={onBegun} />
    </article>
  )
}
