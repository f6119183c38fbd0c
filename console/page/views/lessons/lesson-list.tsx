/** LessonList: the lessons that ship with Skiff. */
import type { LessonRow } from '../../../protocol/lessons.ts'
import { linkTo } from '../../app/router.ts'
import { CommandLine } from '../../parts/command-line.tsx'
import { InlineText } from '../../parts/markdown-text.tsx'

function Card({ lesson }: { readonly lesson: LessonRow }) {
  const { name, title, summary, steps, tools, ownCluster, isBegun } = lesson
  return (
    <li class="panel lesson-card">
      <h2>{ownCluster ? title : <a href={linkTo(['lessons', name])}>{title}</a>}</h2>
      <p>
        <InlineText text={summary} />
      </p>
      <p class="dim">
        {steps} steps{tools.length > 0 && `, with ${tools.join(' and ')}`}
        {isBegun && <strong class="tone-accent"> · begun</strong>}
      </p>
      {ownCluster && (
        <>
          <p class="dim">It needs a cluster of its own. In a terminal:</p>
          <CommandLine text={`skiff lesson run ${name}`} label={`Command for ${title}`} />
        </>
      )}
    </li>
  )
}

export function LessonList({ lessons }: { readonly lessons: readonly LessonRow[] }) {
  return (
    <ul class="lesson-cards">
      {lessons.map((lesson) => (
        <Card key={lesson.name} lesson={lesson} />
      ))}
    </ul>
  )
}
